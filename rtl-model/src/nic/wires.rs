//! The wires between the blocks of the NIC: the twin of the port connections in `hdl/nic.sv`.
//!
//! Data moves with its valid: an input that no valid vouches for keeps what it had, and no block
//! looks at it. Where a ready is made of data it is looked at without its valid, and so it moves
//! as it is. A block that sees another input than in the clock before is woken.

// One line a wire: a function is as long as its part of the NIC has wires.
#![allow(clippy::too_many_lines)]

use super::{Inputs, Nic, at};
use crate::block::Block;

/// Wires from each block, connected when it has been driven. A block that sees another input wakes.
pub(super) mod from {
    use super::super::{Nic, at};
    use super::{level, valid, valid_bit};
    use crate::types::{PageWrite, Why};

    /// Every wire from `csr` is a level, and changes only by a register write.
    pub fn csr(nic: &mut Nic) {
        nic.connect_settings();
        nic.wake = u64::MAX;
    }

    pub fn rx_fifo(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.rx_fifo, &mut nic.wake);
        if valid(&mut i.tlp_parse.rx_valid, o.out_valid, wake, at::tlp_parse) {
            i.tlp_parse.rx_data = o.out_data.data;
        }
        level(&mut i.tlp_parse.rx_sop, o.out_data.sop, wake, at::tlp_parse);
        level(&mut i.tlp_parse.rx_eop, o.out_data.eop, wake, at::tlp_parse);
        level(&mut i.tlp_parse.rx_hdr, o.out_data.hdr, wake, at::tlp_parse);
        level(&mut i.tlp_parse.rx_dws, o.out_data.dws, wake, at::tlp_parse);
        if valid(&mut i.pcie_room.out_valid, o.out_valid, wake, at::pcie_room) {
            i.pcie_room.out_sop = o.out_data.sop;
            i.pcie_room.out_dws = o.out_data.dws;
        }
    }

    pub fn tlp_parse(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.tlp_parse, &mut nic.wake);
        if valid(&mut i.page_fifo.in_valid, o.page_valid, wake, at::page_fifo) {
            i.page_fifo.in_data = PageWrite {
                addr: o.page_addr,
                len: o.page_len,
                full: o.page_full,
                data: o.page_data,
            };
        }
        if valid(&mut i.payload_fetch.cpl_valid, o.cpl_valid, wake, at::payload_fetch) {
            i.payload_fetch.cpl_tag = o.cpl_tag;
            i.payload_fetch.cpl_first = o.cpl_first;
            i.payload_fetch.cpl_last = o.cpl_last;
            i.payload_fetch.cpl_data = o.cpl_data;
            i.payload_fetch.cpl_bytes = o.cpl_bytes;
            i.payload_fetch.cpl_status = o.cpl_status;
            i.payload_fetch.cpl_poison = o.cpl_poison;
            i.payload_fetch.cpl_count = o.cpl_count;
            i.payload_fetch.cpl_lower = o.cpl_lower;
        }
    }

    pub fn page_fifo(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.page_fifo, &mut nic.wake);
        if valid(&mut i.doorbell.page_valid, o.out_valid, wake, at::doorbell) {
            i.doorbell.page_addr = o.out_data.addr;
            i.doorbell.page_len = o.out_data.len;
            i.doorbell.page_full = o.out_data.full;
            i.doorbell.page_data = o.out_data.data;
        }
    }

    pub fn doorbell(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.doorbell, &mut nic.wake);
        if valid(&mut i.csr.wr_valid, o.csr_valid, wake, at::csr) {
            i.csr.wr_index = o.csr_index;
            i.csr.wr_data = o.csr_data;
        }
        if valid(&mut i.qp_table.qp_valid, o.qp_valid, wake, at::qp_table) {
            i.qp_table.qp_op = o.qp_op;
            i.qp_table.qp_qpn = o.qp_qpn;
            i.qp_table.qp_dest = o.qp_dest;
        }
        if valid(&mut i.completion.post_done_valid, o.post_done_valid, wake, at::completion) {
            i.completion.post_done_qp = o.post_qp;
            i.completion.post_done_qpn = o.post_qpn;
            i.completion.post_done_dest = o.post_dest;
            i.completion.post_done_open = o.post_open;
            i.completion.post_done_msg = o.post_msg;
            i.completion.post_done_len = o.post_len;
            i.completion.post_done_msn = o.post_msn;
            i.completion.post_done_cookie = o.post_cookie;
        }
        if valid(&mut i.completion.err_valid, o.err_valid, wake, at::completion) {
            i.completion.err_code = o.err_code;
            i.completion.err_cookie = o.err_cookie;
            i.completion.err_qpn = o.err_qpn;
            i.completion.err_len = o.err_len;
        }
        if valid(&mut i.tx_scheduler.post_valid, o.post_sched_valid, wake, at::tx_scheduler) {
            i.tx_scheduler.post_qp = o.post_qp;
            i.tx_scheduler.post_dest = o.post_dest;
            i.tx_scheduler.post_group = o.post_group;
            i.tx_scheduler.post_open = o.post_open;
            i.tx_scheduler.post_msg = o.post_msg;
            i.tx_scheduler.post_laddr = o.post_laddr;
            i.tx_scheduler.post_raddr = o.post_raddr;
            i.tx_scheduler.post_rkey = o.post_rkey;
            i.tx_scheduler.post_len = o.post_len;
            i.tx_scheduler.post_msn = o.post_msn;
        }
        level(&mut i.qp_drain.post_sched_valid, o.post_sched_valid, wake, at::qp_drain);
        level(&mut i.qp_drain.post_done_valid, o.post_done_valid, wake, at::qp_drain);
        level(&mut i.qp_drain.post_qp, o.post_qp, wake, at::qp_drain);
        level(&mut i.tx_scheduler.ring, o.ring, wake, at::tx_scheduler);
        if valid(&mut i.rx_track.close_valid, o.close_valid, wake, at::rx_track) {
            i.rx_track.close_qpn = o.close_qpn;
        }
    }

    pub fn qp_table(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.qp_table, &mut nic.wake);
        if valid(&mut i.doorbell.qp_rsp_valid, o.qp_rsp_valid, wake, at::doorbell) {
            i.doorbell.qp_rsp_ok = o.qp_rsp_ok;
            i.doorbell.qp_rsp_full = o.qp_rsp_full;
            i.doorbell.qp_rsp_failed = o.qp_rsp_failed;
            i.doorbell.qp_rsp_qpn = o.qp_rsp_qpn;
            i.doorbell.qp_rsp_group = o.qp_rsp_group;
            i.doorbell.qp_rsp_dest = o.qp_rsp_dest;
            i.doorbell.qp_rsp_msn = o.qp_rsp_msn;
        }
        if valid(&mut i.qp_drain.drain_valid, o.drain_valid, wake, at::qp_drain) {
            i.qp_drain.drain_qp = o.drain_qp;
        }
        if valid(&mut i.qp_drain.end_rsp_valid, o.end_rsp_valid, wake, at::qp_drain) {
            i.qp_drain.end_rsp_ok = o.end_rsp_ok;
            i.qp_drain.end_rsp_qpn = o.end_rsp_qpn;
            i.qp_drain.end_rsp_group = o.end_rsp_group;
        }
        if valid(&mut i.ack_take.created_valid, o.created_valid, wake, at::ack_take) {
            i.ack_take.created_qpn = o.created_qpn;
        }
        level(&mut i.payload_fetch.dead, o.dead, wake, at::payload_fetch);
        level(&mut i.retransmit.error, o.dead, wake, at::retransmit);
        // QPs in error are looked at when a probe is due.
        i.path_probe.dead = o.dead;
        if valid(&mut i.path_probe.created_valid, o.created_valid, wake, at::path_probe) {
            i.path_probe.created_qpn = o.created_qpn;
            i.path_probe.created_dest = o.created_dest;
        }
        if valid(&mut i.path_probe.closed_valid, o.closed_valid, wake, at::path_probe) {
            i.path_probe.closed_qpn = o.closed_qpn;
        }
        if valid(&mut i.window.open_valid, o.open_valid, wake, at::window) {
            i.window.open_group = o.open_group;
        }
        if valid(&mut i.packet_build.build_rsp_valid, o.build_rsp_valid, wake, at::packet_build) {
            i.packet_build.build_rsp_qpn = o.build_rsp_qpn;
            i.packet_build.build_rsp_remote_valid = o.build_rsp_remote_valid;
            i.packet_build.build_rsp_remote = o.build_rsp_remote;
        }
        if valid(&mut i.ack_take.find_rsp_valid, o.find_rsp_valid, wake, at::ack_take) {
            i.ack_take.find_rsp_ok = o.find_rsp_ok;
            i.ack_take.find_rsp_qp = o.find_rsp_qp;
            i.ack_take.find_rsp_given = o.find_rsp_given;
            i.ack_take.find_rsp_cum = o.find_rsp_cum;
            i.ack_take.find_rsp_group = o.find_rsp_group;
            i.ack_take.find_rsp_dest = o.find_rsp_dest;
            i.ack_take.find_rsp_recovers = o.find_rsp_recovers;
            i.ack_take.find_rsp_recover = o.find_rsp_recover;
        }
        level(&mut i.ack_take.upd_done, o.upd_done, wake, at::ack_take);
    }

    pub fn qp_drain(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.qp_drain, &mut nic.wake);
        if valid(&mut i.qp_table.end_valid, o.end_valid, wake, at::qp_table) {
            i.qp_table.end_qp = o.end_qp;
            i.qp_table.end_close = o.end_close;
            i.qp_table.end_free = o.end_free;
        }
        if valid(&mut i.tx_scheduler.drop_valid, o.drop_valid, wake, at::tx_scheduler) {
            i.tx_scheduler.drop_qp = o.drop_qp;
            i.tx_scheduler.drop_group = o.drop_group;
        }
        if valid(&mut i.ack_take.purge_valid, o.purge_valid, wake, at::ack_take) {
            i.ack_take.purge_qp = o.purge_qp;
        }
        if valid(&mut i.replay_store.toss_valid, o.toss_valid, wake, at::replay_store) {
            i.replay_store.toss_slot = o.toss_slot;
        }
        if valid(&mut i.window.toss_valid, o.flight_valid, wake, at::window) {
            i.window.toss_group = o.flight_group;
            i.window.toss_bytes = o.flight_bytes;
        }
        if valid(&mut i.egress_arbiter.unresv_valid, o.unresv_valid, wake, at::egress_arbiter) {
            i.egress_arbiter.unresv_bytes = o.unresv_bytes;
        }
    }

    pub fn window(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.window, &mut nic.wake);
        if valid(&mut i.tx_scheduler.try_rsp_valid, o.try_rsp_valid, wake, at::tx_scheduler) {
            i.tx_scheduler.try_rsp_ok = o.try_rsp_ok;
        }
        if valid(&mut i.packet_build.query_rsp_valid, o.query_rsp_valid, wake, at::packet_build) {
            i.packet_build.query_rsp_tight = o.query_rsp_tight;
        }
    }

    pub fn path_select(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.path_select, &mut nic.wake);
        if valid(&mut i.packet_build.data_rsp_valid, o.data_rsp_valid, wake, at::packet_build) {
            i.packet_build.data_rsp_port = o.data_rsp_port;
        }
        if valid(&mut i.ack_build.ack_rsp_valid, o.ack_rsp_valid, wake, at::ack_build) {
            i.ack_build.ack_rsp_port = o.ack_rsp_port;
        }
        level(&mut i.path_probe.troubled, o.troubled, wake, at::path_probe);
        valid(&mut i.path_probe.fell_valid, o.fell_valid, wake, at::path_probe);
        valid(&mut i.path_probe.rose_valid, o.rose_valid, wake, at::path_probe);
        if o.fell_valid || o.rose_valid {
            i.path_probe.told_dest = o.told_dest;
            i.path_probe.told_value = o.told_value;
        }
        if valid(&mut i.path_probe.look_rsp_valid, o.look_rsp_valid, wake, at::path_probe) {
            i.path_probe.look_rsp_bad = o.look_rsp_bad;
        }
    }

    pub fn path_probe(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.path_probe, &mut nic.wake);
        if valid(&mut i.path_select.look_valid, o.look_valid, wake, at::path_select) {
            i.path_select.look_dest = o.look_dest;
        }
        if valid(&mut i.path_select.good_valid, o.good_valid, wake, at::path_select) {
            i.path_select.good_dest = o.good_dest;
            i.path_select.good_value = o.good_value;
        }
        valid(&mut i.tx_scheduler.room_valid, o.room_valid, wake, at::tx_scheduler);
        if valid(&mut i.packet_build.probe_valid, o.probe_valid, wake, at::packet_build) {
            i.packet_build.probe_qp = o.probe_qp;
            i.packet_build.probe_dest = o.probe_dest;
            i.packet_build.probe_value = o.probe_value;
            i.packet_build.probe_id = o.probe_id;
        }
    }

    pub fn tx_scheduler(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.tx_scheduler, &mut nic.wake);
        if valid(&mut i.window.try_valid, o.try_valid, wake, at::window) {
            i.window.try_group = o.try_group;
            i.window.try_bytes = o.try_bytes;
            i.window.try_commit = o.try_commit;
        }
        if valid(&mut i.retransmit.ask_valid, o.ask_valid, wake, at::retransmit) {
            i.retransmit.ask_qp = o.ask_qp;
            i.retransmit.ask_from = o.ask_from;
        }
        if valid(&mut i.retransmit.end_valid, o.end_valid, wake, at::retransmit) {
            i.retransmit.end_take = o.end_take;
        }
        if valid(&mut i.completion.sent_valid, o.sent_valid, wake, at::completion) {
            i.completion.sent_qp = o.sent_qp;
            i.completion.sent_msg = o.sent_msg;
            i.completion.sent_psn = o.sent_psn;
        }
        valid(&mut i.payload_fetch.seg_valid, o.seg_valid, wake, at::payload_fetch);
        level(&mut i.payload_fetch.seg, o.seg, wake, at::payload_fetch);
        if valid(&mut i.qp_drain.seg_valid, o.seg_valid, wake, at::qp_drain) {
            i.qp_drain.seg = o.seg;
        }
        if valid(&mut i.egress_arbiter.resv_valid, o.resv_valid, wake, at::egress_arbiter) {
            i.egress_arbiter.resv_bytes = o.resv_bytes;
        }
        if valid(&mut i.path_probe.room_rsp_valid, o.room_rsp_valid, wake, at::path_probe) {
            i.path_probe.room_rsp_ok = o.room_rsp_ok;
        }
    }

    pub fn replay_store(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.replay_store, &mut nic.wake);
        if valid(&mut i.tx_scheduler.slot_valid, o.slot_valid, wake, at::tx_scheduler) {
            i.tx_scheduler.slot = o.slot;
        }
        if valid(&mut i.retransmit.look_rsp_valid, o.look_rsp_valid, wake, at::retransmit) {
            i.retransmit.look_rsp_hit = o.look_rsp_hit;
            i.retransmit.look_rsp_slot = o.look_rsp_slot;
            i.retransmit.look_rsp = o.look_rsp;
            i.retransmit.look_rsp_port = o.look_rsp_port;
        }
        if valid(&mut i.retransmit.sent_valid, o.sent_valid, wake, at::retransmit) {
            i.retransmit.sent_slot = o.sent_slot;
        }
    }

    pub fn retransmit(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.retransmit, &mut nic.wake);
        if valid(&mut i.ack_take.retire_rsp_valid, o.retire_rsp_valid, wake, at::ack_take) {
            i.ack_take.retire_rsp_len = o.retire_rsp_len;
            i.ack_take.retire_rsp_group = o.retire_rsp_group;
            i.ack_take.retire_rsp_last = o.retire_rsp_last;
            i.ack_take.retire_rsp_flight = o.retire_rsp_flight;
        }
        if valid(&mut i.ack_take.lose_rsp_valid, o.lose_rsp_valid, wake, at::ack_take) {
            i.ack_take.lose_rsp_queued = o.lose_rsp_queued;
            i.ack_take.lose_rsp_fatal = o.lose_rsp_fatal;
        }
        if valid(&mut i.replay_store.look_valid, o.look_valid, wake, at::replay_store) {
            i.replay_store.look_op = o.look_op;
            i.replay_store.look_qp = o.look_qp;
            i.replay_store.look_psn = o.look_psn;
            i.replay_store.look_slot = o.look_slot;
            i.replay_store.look_discard = o.look_discard;
        }
        if valid(&mut i.replay_store.hold_valid, o.hold_valid, wake, at::replay_store) {
            i.replay_store.hold_slot = o.hold_slot;
        }
        if valid(&mut i.timer_wheel.arm_valid, o.arm_valid, wake, at::timer_wheel) {
            i.timer_wheel.arm_slot = o.arm_slot;
            i.timer_wheel.arm_gen = o.arm_gen;
            i.timer_wheel.arm_start = o.arm_start;
            i.timer_wheel.arm_span = o.arm_span;
        }
        if valid(&mut i.timer_wheel.cancel_valid, o.cancel_valid, wake, at::timer_wheel) {
            i.timer_wheel.cancel_slot = o.cancel_slot;
        }
        if valid(&mut i.waits.req_valid, o.map_valid, wake, at::waits) {
            i.waits.req_op = o.map_op;
            i.waits.req_qp = o.map_qp;
            i.waits.req_psn = o.map_psn;
            i.waits.req_end = o.map_end;
        }
        if valid(&mut i.window.lose_valid, o.loss_valid, wake, at::window) {
            i.window.lose_group = o.loss_group;
            i.window.lose_bytes = o.loss_bytes;
            i.window.lose_shrink = o.loss_shrink;
        }
        if valid(&mut i.tx_scheduler.wait_valid, o.wait_valid, wake, at::tx_scheduler) {
            i.tx_scheduler.wait_qp = o.wait_qp;
            i.tx_scheduler.wait_group = o.wait_group;
        }
        if valid(&mut i.tx_scheduler.offer_valid, o.offer_valid, wake, at::tx_scheduler) {
            i.tx_scheduler.offer_hit = o.offer_hit;
            i.tx_scheduler.offer_more = o.offer_more;
        }
        level(&mut i.tx_scheduler.offer_len, o.offer_len, wake, at::tx_scheduler);
        if valid(&mut i.packet_build.again_valid, o.again_valid, wake, at::packet_build) {
            i.packet_build.again = o.again;
        }
        if valid(&mut i.qp_drain.fail_valid, o.fail_valid, wake, at::qp_drain) {
            i.qp_drain.fail_qp = o.fail_qp;
            i.qp_drain.fail_why = Why::Timeout;
        }
        if valid(&mut i.path_select.bad_valid, o.bad_valid, wake, at::path_select) {
            i.path_select.bad_dest = o.bad_dest;
            i.path_select.bad_port = o.bad_port;
        }
    }

    pub fn timer_wheel(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.timer_wheel, &mut nic.wake);
        // The count wakes nobody: it is looked at when a packet has been sent.
        i.retransmit.ticks = o.now;
        // Nor does it wake path_probe, unless a value may be due.
        if i.path_probe.ticks != o.now && i.path_probe.troubled != 0 {
            *wake |= 1 << at::path_probe;
        }
        i.path_probe.ticks = o.now;
        if valid(&mut i.retransmit.exp_valid, o.exp_valid, wake, at::retransmit) {
            i.retransmit.exp_slot = o.exp_slot;
            i.retransmit.exp_gen = o.exp_gen;
        }
    }

    pub fn waits(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.waits, &mut nic.wake);
        if valid(&mut i.retransmit.map_rsp_valid, o.rsp_valid, wake, at::retransmit) {
            i.retransmit.map_rsp_psn = o.rsp_psn;
        }
    }

    pub fn payload_fetch(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.payload_fetch, &mut nic.wake);
        level(&mut i.tx_scheduler.tags_free, o.tags_free, wake, at::tx_scheduler);
        if valid(&mut i.order_fifo.in_valid, o.ord_valid, wake, at::order_fifo) {
            i.order_fifo.in_data = o.ord;
        }
        if valid(&mut i.tlp_engine.rd_valid, o.rd_valid, wake, at::tlp_engine) {
            i.tlp_engine.rd_addr = o.rd_addr;
            i.tlp_engine.rd_len = o.rd_len;
            i.tlp_engine.rd_tag = o.rd_tag;
        }
        if valid(&mut i.packet_build.hand_valid, o.hand_valid, wake, at::packet_build) {
            i.packet_build.hand = o.hand;
        }
        if valid(&mut i.qp_drain.hand_valid, o.hand_valid, wake, at::qp_drain) {
            i.qp_drain.hand = o.hand;
        }
        if valid(&mut i.qp_drain.failed_valid, o.failed_valid, wake, at::qp_drain) {
            i.qp_drain.failed = o.failed;
            i.qp_drain.failed_reason = o.failed_reason;
        }
    }

    pub fn order_fifo(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.order_fifo, &mut nic.wake);
        if valid(&mut i.payload_fetch.head_valid, o.out_valid, wake, at::payload_fetch) {
            i.payload_fetch.head = o.out_data;
        }
    }

    pub fn tlp_engine(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.tlp_engine, &mut nic.wake);
        if valid(&mut i.pcie_link.tx_valid, o.tx_valid, wake, at::pcie_link) {
            i.pcie_link.tx_last = o.tx_last;
            i.pcie_link.tx_hdr = o.tx_hdr;
            i.pcie_link.tx_cost = o.tx_cost;
            i.pcie_link.tx_data = o.tx_data;
        }
        level(&mut i.pcie_link.tx_first, o.tx_first, wake, at::pcie_link);
        level(&mut i.pcie_link.tx_kind, o.tx_kind, wake, at::pcie_link);
        level(&mut i.pcie_link.tx_dws, o.tx_dws, wake, at::pcie_link);
    }

    pub fn pcie_link(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.pcie_link, &mut nic.wake);
        if valid(&mut i.pcie_reads.in_valid, o.rpush_valid, wake, at::pcie_reads) {
            i.pcie_reads.in_data = o.rpush;
        }
        if valid(&mut i.pcie_writes.in_valid, o.wpush_valid, wake, at::pcie_writes) {
            i.pcie_writes.in_data = o.wpush;
        }
        if valid(&mut i.pcie_cqes.in_valid, o.cpush_valid, wake, at::pcie_cqes) {
            i.pcie_cqes.in_data = o.cpush;
        }
    }

    /// Its outputs are the NIC's.
    pub fn pcie_room(_nic: &mut Nic) {}

    pub fn pcie_reads(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.pcie_reads, &mut nic.wake);
        if valid(&mut i.pcie_link.rhead_valid, o.out_valid, wake, at::pcie_link) {
            i.pcie_link.rhead = o.out_data;
        }
    }

    pub fn pcie_writes(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.pcie_writes, &mut nic.wake);
        if valid(&mut i.pcie_link.whead_valid, o.out_valid, wake, at::pcie_link) {
            i.pcie_link.whead = o.out_data;
        }
    }

    pub fn pcie_cqes(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.pcie_cqes, &mut nic.wake);
        valid(&mut i.pcie_link.chead_valid, o.out_valid, wake, at::pcie_link);
        level(&mut i.pcie_link.chead, o.out_data, wake, at::pcie_link);
    }

    pub fn packet_build(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.packet_build, &mut nic.wake);
        if valid(&mut i.qp_table.build_valid, o.build_valid, wake, at::qp_table) {
            i.qp_table.build_qp = o.build_qp;
            i.qp_table.build_psn = o.build_psn;
            i.qp_table.build_again = o.build_again;
        }
        if valid(&mut i.window.query_valid, o.query_valid, wake, at::window) {
            i.window.query_group = o.query_group;
        }
        if valid(&mut i.path_select.data_valid, o.data_valid, wake, at::path_select) {
            i.path_select.data_dest = o.data_dest;
        }
        if valid(&mut i.replay_store.build_valid, o.rec_valid, wake, at::replay_store) {
            i.replay_store.build = o.rec;
        }
        if valid(&mut i.replay_store.made_valid, o.made_valid, wake, at::replay_store) {
            i.replay_store.made_slot = o.made_slot;
            i.replay_store.made_port = o.made_port;
        }
        level(&mut i.qp_drain.built_valid, o.built_valid, wake, at::qp_drain);
        if valid(&mut i.built_fifo.in_valid, o.built_valid, wake, at::built_fifo) {
            i.built_fifo.in_data = u32::from(o.built_qp) << 24 | o.built_psn.0;
        }
        if valid(&mut i.dat_queue.in_valid, o.frame_valid, wake, at::dat_queue) {
            i.dat_queue.in_data = o.frame;
        }
        // What is being built is looked at when a frame names its QP.
        i.ack_take.building_valid = o.building_valid;
        i.ack_take.building_qp = o.building_qp;
        i.ack_take.building_psn = o.building_psn;
    }

    pub fn dat_queue(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.dat_queue, &mut nic.wake);
        let arbiter = &mut i.egress_arbiter;
        if valid_bit(&mut arbiter.cls_valid, 0, o.out_valid, wake, at::egress_arbiter) {
            arbiter.cls0 = o.out_data;
        }
    }

    pub fn ctl_queue(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.ctl_queue, &mut nic.wake);
        let arbiter = &mut i.egress_arbiter;
        if valid_bit(&mut arbiter.cls_valid, 1, o.out_valid, wake, at::egress_arbiter) {
            arbiter.cls1 = o.out_data;
        }
    }

    pub fn egress_arbiter(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.egress_arbiter, &mut nic.wake);
        level(&mut i.tx_scheduler.half_valid, o.half_valid, wake, at::tx_scheduler);
        level(&mut i.tx_scheduler.egress_free, o.egress_free, wake, at::tx_scheduler);
        if valid(&mut i.port_tx.tx_valid, o.tx_valid, wake, at::port_tx) {
            i.port_tx.tx = o.tx;
        }
        if valid(&mut i.ack_hold.tx_valid, o.tx_valid, wake, at::ack_hold) {
            i.ack_hold.tx_cls = o.tx_cls;
            i.ack_hold.tx_len = o.tx.len;
        }
        if valid(&mut i.port_tx.end_valid, o.end_valid, wake, at::port_tx) {
            i.port_tx.end_back = o.end_back;
        }
        if valid(&mut i.path_probe.tx_valid, o.tx_valid, wake, at::path_probe) {
            i.path_probe.tx_cls = o.tx_cls;
            i.path_probe.tx = o.tx;
        }
        if valid(&mut i.path_probe.end_valid, o.end_valid, wake, at::path_probe) {
            i.path_probe.end_cls = o.end_cls;
            i.path_probe.end_data = o.end_data;
        }
        level(&mut i.ack_build.ctl_free, o.ctl_free, wake, at::ack_build);
    }

    pub fn port_tx(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.port_tx, &mut nic.wake);
        if valid(&mut i.replay_store.gone_valid, o.gone_valid, wake, at::replay_store) {
            i.replay_store.gone_data = o.gone_data;
            i.replay_store.gone_slot = o.gone_slot;
        }
    }

    pub fn port_rx(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.port_rx, &mut nic.wake);
        if valid(&mut i.packet_parse.frame_valid, o.frame_valid, wake, at::packet_parse) {
            i.packet_parse.frame_hdr = o.frame_hdr;
            i.packet_parse.frame_len = o.frame_len;
            i.packet_parse.frame_fcs_ok = o.frame_fcs_ok;
            i.packet_parse.frame_icrc_ok = o.frame_icrc_ok;
            i.packet_parse.frame_words = o.frame_words;
        }
        if valid(&mut i.ingress_pool.word_valid, o.word_valid, wake, at::ingress_pool) {
            i.ingress_pool.word_data = o.word_data;
        }
    }

    pub fn packet_parse(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.packet_parse, &mut nic.wake);
        if valid(&mut i.ingress_pool.in_valid, o.out_valid, wake, at::ingress_pool) {
            i.ingress_pool.r#in = o.out;
            i.ingress_pool.in_drop = o.out_drop;
            i.ingress_pool.in_words = o.out_words;
        }
        if valid(&mut i.pause_hold.pfc_valid, o.pfc_valid, wake, at::pause_hold) {
            i.pause_hold.pfc_classes = o.pfc_classes;
            i.pause_hold.pfc_quanta = o.pfc_quanta;
        }
    }

    pub fn pause_hold(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.pause_hold, &mut nic.wake);
        level(&mut i.egress_arbiter.paused, o.paused, wake, at::egress_arbiter);
    }

    pub fn pause_send(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.pause_send, &mut nic.wake);
        if valid(&mut i.egress_arbiter.pfc_valid, o.frame_valid, wake, at::egress_arbiter) {
            i.egress_arbiter.pfc = o.frame;
        }
    }

    pub fn ingress_pool(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.ingress_pool, &mut nic.wake);
        if valid(&mut i.dat_fifo.in_valid, o.dat_valid, wake, at::dat_fifo) {
            i.dat_fifo.in_data = o.dat;
        }
        if valid(&mut i.ctl_fifo.in_valid, o.ctl_valid, wake, at::ctl_fifo) {
            i.ctl_fifo.in_data = o.ctl;
        }
        if valid(&mut i.pause_send.arr_valid, o.arr_valid, wake, at::pause_send) {
            i.pause_send.arr_cls = u8::from(o.arr_ctl);
            i.pause_send.arr_occ = o.arr_occ;
        }
        let released = u8::from(o.rel0) | u8::from(o.rel1) << 1;
        // The pool wakes nobody: it is looked at when an answer comes.
        i.ack_hold.occ = o.occ0;
        level(&mut i.pause_send.rel_cls, released, wake, at::pause_send);
        let held = u64::from(o.occ0) | u64::from(o.occ1) << 32;
        level(&mut i.pause_send.occ.0[0], held, wake, at::pause_send);
    }

    pub fn dat_fifo(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.dat_fifo, &mut nic.wake);
        if valid(&mut i.rx_track.in_valid, o.out_valid, wake, at::rx_track) {
            i.rx_track.r#in = o.out_data;
        }
    }

    pub fn ctl_fifo(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.ctl_fifo, &mut nic.wake);
        if valid(&mut i.ack_take.in_valid, o.out_valid, wake, at::ack_take) {
            i.ack_take.r#in = o.out_data;
        }
    }

    pub fn rx_track(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.rx_track, &mut nic.wake);
        if valid(&mut i.ingress_pool.rel2_valid, o.rel2_valid, wake, at::ingress_pool) {
            i.ingress_pool.rel2_bytes = o.rel2_bytes;
        }
        if valid(&mut i.ingress_pool.relt_valid, o.relt_valid, wake, at::ingress_pool) {
            i.ingress_pool.relt_bytes = o.relt_bytes;
        }
        if valid(&mut i.deliver_fifo.in_valid, o.deliver_valid, wake, at::deliver_fifo) {
            i.deliver_fifo.in_data = o.deliver;
        }
        if valid(&mut i.ack_hold.in_valid, o.answer_valid, wake, at::ack_hold) {
            i.ack_hold.r#in = o.answer;
        }
        if valid(&mut i.rx_bitmap.req_valid, o.map_valid, wake, at::rx_bitmap) {
            i.rx_bitmap.req_op = o.map_op;
            i.rx_bitmap.req_qp = o.map_qp;
            i.rx_bitmap.req_psn = o.map_psn;
            i.rx_bitmap.req_low = o.map_low;
            i.rx_bitmap.req_walk = o.map_walk;
            i.rx_bitmap.req_last = o.map_last;
            i.rx_bitmap.req_asked = o.map_asked;
        }
    }

    pub fn rx_bitmap(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.rx_bitmap, &mut nic.wake);
        if valid(&mut i.rx_track.map_rsp_valid, o.rsp_valid, wake, at::rx_track) {
            i.rx_track.map_rsp_hit = o.rsp_hit;
            i.rx_track.map_rsp_psn = o.rsp_psn;
            i.rx_track.map_rsp_bits = o.rsp_bits;
            i.rx_track.map_rsp_far = o.rsp_far;
            i.rx_track.map_rsp_asked = o.rsp_asked;
            i.rx_track.map_rsp_more = o.rsp_more;
        }
    }

    pub fn deliver_fifo(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.deliver_fifo, &mut nic.wake);
        if valid(&mut i.payload_write.in_valid, o.out_valid, wake, at::payload_write) {
            i.payload_write.r#in = o.out_data;
        }
        level(&mut i.rx_track.deliver_level, o.level, wake, at::rx_track);
    }

    pub fn payload_write(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.payload_write, &mut nic.wake);
        if valid(&mut i.completion.comp_valid, o.comp_valid, wake, at::completion) {
            i.completion.comp_qpn = o.comp_qpn;
            i.completion.comp_msn = o.comp_msn;
            i.completion.comp_len = o.comp_len;
            i.completion.comp_dest = o.comp_dest;
        }
        if valid(&mut i.tlp_engine.wr_valid, o.wr_valid, wake, at::tlp_engine) {
            i.tlp_engine.wr_first = o.wr_first;
            i.tlp_engine.wr_last = o.wr_last;
            i.tlp_engine.wr_addr = o.wr_addr;
            i.tlp_engine.wr_len = o.wr_len;
            i.tlp_engine.wr_data = o.wr_data;
        }
        if valid(&mut i.ingress_pool.rel_valid, o.rel_valid, wake, at::ingress_pool) {
            i.ingress_pool.rel_bytes = o.rel_bytes;
        }
        if valid(&mut i.ingress_pool.free_valid, o.free_valid, wake, at::ingress_pool) {
            i.ingress_pool.free_words = o.free_words;
        }
    }

    pub fn answer_fifo(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.answer_fifo, &mut nic.wake);
        if valid(&mut i.ack_hold.head_valid, o.out_valid, wake, at::ack_hold) {
            i.ack_hold.head = o.out_data;
        }
    }

    pub fn nack_fifo(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.nack_fifo, &mut nic.wake);
        if valid(&mut i.ack_hold.nhead_valid, o.out_valid, wake, at::ack_hold) {
            i.ack_hold.nhead = o.out_data;
        }
    }

    pub fn ack_hold(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.ack_hold, &mut nic.wake);
        if valid(&mut i.answer_fifo.in_valid, o.held_valid, wake, at::answer_fifo) {
            i.answer_fifo.in_data = o.stamped;
        }
        if valid(&mut i.nack_fifo.in_valid, o.nack_valid, wake, at::nack_fifo) {
            i.nack_fifo.in_data = o.stamped;
        }
        if valid(&mut i.ack_build.answer_valid, o.out_valid, wake, at::ack_build) {
            i.ack_build.reply = o.out;
        }
    }

    pub fn ack_build(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.ack_build, &mut nic.wake);
        if valid(&mut i.path_select.ack_valid, o.ack_valid, wake, at::path_select) {
            i.path_select.ack_dest = o.ack_dest;
        }
        if valid(&mut i.ctl_queue.in_valid, o.frame_valid, wake, at::ctl_queue) {
            i.ctl_queue.in_data = o.frame;
        }
        if valid(&mut i.egress_arbiter.cresv_valid, o.cresv_valid, wake, at::egress_arbiter) {
            i.egress_arbiter.cresv_bytes = o.cresv_bytes;
        }
        level(&mut i.rx_track.sent_valid, o.cresv_valid, wake, at::rx_track);
    }

    pub fn built_fifo(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.built_fifo, &mut nic.wake);
        if valid(&mut i.ack_take.built_valid, o.out_valid, wake, at::ack_take) {
            i.ack_take.built = o.out_data;
        }
    }

    pub fn sent_bitmap(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.sent_bitmap, &mut nic.wake);
        if valid(&mut i.ack_take.map_rsp_valid, o.rsp_valid, wake, at::ack_take) {
            i.ack_take.map_rsp_hit = o.rsp_hit;
            i.ack_take.map_rsp_psn = o.rsp_psn;
            i.ack_take.map_rsp_bits = o.rsp_bits;
        }
    }

    pub fn ack_take(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.ack_take, &mut nic.wake);
        if valid(&mut i.qp_table.find_valid, o.find_valid, wake, at::qp_table) {
            i.qp_table.find_qpn = o.find_qpn;
            i.qp_table.find_dest_ip = o.find_dest_ip;
            i.qp_table.find_bare = o.find_bare;
        }
        if valid(&mut i.qp_table.upd_valid, o.upd_valid, wake, at::qp_table) {
            i.qp_table.upd_qp = o.upd_qp;
            i.qp_table.upd_cum = o.upd_cum;
            i.qp_table.upd_learn = o.upd_learn;
            i.qp_table.upd_remote = o.upd_remote;
            i.qp_table.upd_recovers = o.upd_recovers;
            i.qp_table.upd_recover = o.upd_recover;
        }
        if valid(&mut i.window.sub_valid, o.sub_valid, wake, at::window) {
            i.window.sub_group = o.sub_group;
            i.window.sub_bytes = o.sub_bytes;
        }
        if valid(&mut i.completion.cover_valid, o.cover_valid, wake, at::completion) {
            i.completion.cover_qp = o.cover_qp;
            i.completion.cover_cum = o.cover_cum;
            i.completion.cover_forget = o.cover_forget;
        }
        if valid(&mut i.tx_scheduler.ack_valid, o.ack_valid, wake, at::tx_scheduler) {
            i.tx_scheduler.ack_qp = o.ack_qp;
            i.tx_scheduler.ack_group = o.ack_group;
            i.tx_scheduler.ack_cum = o.ack_cum;
        }
        if valid(&mut i.retransmit.retire_valid, o.retire_valid, wake, at::retransmit) {
            i.retransmit.retire_qp = o.retire_qp;
            i.retransmit.retire_psn = o.retire_psn;
            i.retransmit.retire_discard = o.retire_discard;
        }
        if valid(&mut i.retransmit.lose_valid, o.lose_valid, wake, at::retransmit) {
            i.retransmit.lose_qp = o.lose_qp;
            i.retransmit.lose_psn = o.lose_psn;
            i.retransmit.lose_cause = o.lose_cause;
        }
        if valid(&mut i.sent_bitmap.req_valid, o.map_valid, wake, at::sent_bitmap) {
            i.sent_bitmap.req_op = o.map_op;
            i.sent_bitmap.req_qp = o.map_qp;
            i.sent_bitmap.req_psn = o.map_psn;
            i.sent_bitmap.req_end = o.map_end;
        }
        level(&mut i.qp_drain.purge_done, o.purge_done, wake, at::qp_drain);
        if valid(&mut i.qp_drain.spent_valid, o.spent_valid, wake, at::qp_drain) {
            i.qp_drain.spent_qp = o.spent_qp;
        }
        if valid(&mut i.ingress_pool.relc_valid, o.relc_valid, wake, at::ingress_pool) {
            i.ingress_pool.relc_bytes = o.relc_bytes;
        }
        if valid(&mut i.path_select.skip_valid, o.skip_valid, wake, at::path_select) {
            i.path_select.skip_dest = o.skip_dest;
            i.path_select.skip_port = o.skip_port;
        }
        if valid(&mut i.path_probe.probed_valid, o.probed_valid, wake, at::path_probe) {
            i.path_probe.probed_dest = o.skip_dest;
            i.path_probe.probed_port = o.skip_port;
            i.path_probe.probed_id = o.probed_id;
            i.path_probe.probed_good = o.probed_good;
        }
    }

    pub fn completion(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.completion, &mut nic.wake);
        if valid(&mut i.doorbell.msg_valid, o.msg_valid, wake, at::doorbell) {
            i.doorbell.msg = o.msg;
        }
        if valid(&mut i.qp_table.done_valid, o.done_valid, wake, at::qp_table) {
            i.qp_table.done_qp = o.done_qp;
        }
        if valid(&mut i.replay_store.final_valid, o.final_valid, wake, at::replay_store) {
            i.replay_store.final_qp = o.final_qp;
            i.replay_store.final_psn = o.final_psn;
        }
        if valid(&mut i.tlp_engine.cqe_valid, o.cqe_valid, wake, at::tlp_engine) {
            i.tlp_engine.cqe_addr = o.cqe_addr;
            i.tlp_engine.cqe_data = o.cqe_data;
        }
    }
}

/// A valid; true when there is something that it vouches for.
fn valid(to: &mut bool, from: bool, wake: &mut u64, block: u32) -> bool {
    *wake |= u64::from(*to | from) << block;
    *to = from;
    from
}

/// The same, of a block that takes several in one vector.
fn valid_bit(to: &mut u8, bit: u32, from: bool, wake: &mut u64, block: u32) -> bool {
    let was = *to >> bit & 1 == 1;
    *wake |= u64::from(was | from) << block;
    *to = *to & !(1 << bit) | u8::from(from) << bit;
    from
}

/// A level, or an event that carries nothing.
fn level<T: PartialEq>(to: &mut T, from: T, wake: &mut u64, block: u32) {
    if *to != from {
        *to = from;
        *wake |= 1 << block;
    }
}

/// A ready, where the block that gives it is awake.
fn ready(to: &mut bool, from: bool, wake: &mut u64, giver: u32, block: u32) {
    if woken(*wake, giver) && *to != from {
        *to = from;
        *wake |= 1 << block;
    }
}

fn woken(wake: u64, block: u32) -> bool {
    wake >> block & 1 == 1
}

impl Nic {
    /// Levels of `csr`, which change only by a register write.
    pub(super) fn connect_settings(&mut self) {
        let (i, o) = (&mut self.i, &self.o.csr);
        i.doorbell.cfg_peer_valid = o.cfg_peer_valid;
        i.qp_table.cfg_initial_psn = o.cfg_initial_psn;
        i.qp_table.cfg_groups = o.cfg_groups;
        i.qp_table.cfg_peer_ip = o.cfg_peer_ip;
        i.window.cfg_init_window = o.cfg_init_window;
        i.window.cfg_unit = o.cfg_unit;
        i.tx_scheduler.cfg_mss = o.cfg_mss;
        i.tx_scheduler.cfg_range = o.cfg_range;
        i.tx_scheduler.cfg_initial_psn = o.cfg_initial_psn;
        i.tx_scheduler.cfg_wire_overhead = o.cfg_wire_overhead;
        i.tx_scheduler.cfg_nominal_overhead = o.cfg_nominal_overhead;
        i.tlp_engine.cfg_rid = o.cfg_rid;
        i.tlp_engine.cfg_cqe_on_link = o.cfg_cqe_on_link;
        i.tlp_engine.cfg_pcie_overhead = o.cfg_pcie_overhead;
        i.tlp_engine.cfg_read_request = o.cfg_read_request;
        i.payload_write.cfg_max_payload = o.cfg_max_payload;
        i.pcie_room.cfg_rx_hdr_buf = o.cfg_rx_hdr_buf;
        i.pcie_room.cfg_rx_data_buf = o.cfg_rx_data_buf;
        i.pcie_link.cfg_pcie_rate = o.cfg_pcie_rate;
        i.pcie_link.cfg_tx_hdr_buf = o.cfg_tx_hdr_buf;
        i.pcie_link.cfg_tx_data_buf = o.cfg_tx_data_buf;
        i.pcie_link.cfg_far_hdr_buf = o.cfg_far_hdr_buf;
        i.pcie_link.cfg_far_data_buf = o.cfg_far_data_buf;
        i.packet_build.cfg_own_ip = o.cfg_own_ip;
        i.packet_build.cfg_own_mac = o.cfg_own_mac;
        i.packet_build.cfg_hop_mac = o.cfg_hop_mac;
        i.packet_build.cfg_peer_ip = o.cfg_peer_ip;
        i.packet_build.cfg_dscp0 = o.cfg_dscp0;
        i.packet_build.cfg_dscp1 = o.cfg_dscp1;
        i.packet_build.cfg_ecn = o.cfg_ecn;
        i.packet_build.cfg_trimming = o.cfg_trimming;
        i.packet_build.cfg_ttl = o.cfg_ttl;
        i.packet_build.cfg_data_hdr = o.cfg_data_hdr;
        i.packet_build.cfg_wire_overhead = o.cfg_wire_overhead;
        i.egress_arbiter.cfg_wire_rate = o.cfg_wire_rate;
        i.egress_arbiter.cfg_egress_pool = o.cfg_egress_pool;
        i.egress_arbiter.cfg_sched = o.cfg_sched;
        i.egress_arbiter.cfg_weights = o.cfg_weights;
        i.pause_hold.cfg_wire_rate = o.cfg_wire_rate;
        i.pause_hold.cfg_pfc_delay = o.cfg_pfc_delay;
        i.pause_send.cfg_own_mac = o.cfg_own_mac;
        i.pause_send.cfg_wire_rate = o.cfg_wire_rate;
        i.pause_send.cfg_pfc_enable = o.cfg_pfc_enable;
        i.pause_send.cfg_pfc_delay = o.cfg_pfc_delay;
        i.pause_send.cfg_quanta = o.cfg_quanta;
        i.pause_send.cfg_xoff = o.cfg_xoff;
        i.pause_send.cfg_xon = o.cfg_xon;
        i.port_tx.cfg_icrc = o.cfg_icrc;
        i.port_rx.cfg_data_hdr = o.cfg_data_hdr;
        i.port_rx.cfg_icrc = o.cfg_icrc;
        i.packet_parse.cfg_own_ip = o.cfg_own_ip;
        i.packet_parse.cfg_own_mac = o.cfg_own_mac;
        i.packet_parse.cfg_dscp4 = o.cfg_dscp4;
        i.packet_parse.cfg_dscp5 = o.cfg_dscp5;
        i.packet_parse.cfg_data_hdr = o.cfg_data_hdr;
        i.packet_parse.cfg_icrc = o.cfg_icrc;
        i.packet_parse.cfg_charge_less = o.cfg_charge_less;
        i.packet_parse.cfg_ack_extra = o.cfg_ack_extra;
        i.ingress_pool.cfg_ingress_pool0 = o.cfg_ingress_pool.0[0] as u32;
        i.ingress_pool.cfg_ingress_pool1 = (o.cfg_ingress_pool.0[0] >> 32) as u32;
        i.rx_track.cfg_peer_valid = o.cfg_peer_valid;
        i.rx_track.cfg_peer_ip = o.cfg_peer_ip;
        i.rx_track.cfg_range = o.cfg_range;
        i.rx_track.cfg_trimming = o.cfg_trimming;
        i.rx_track.cfg_initial_psn = o.cfg_initial_psn;
        i.rx_track.cfg_wire_overhead = o.cfg_wire_overhead;
        i.rx_track.cfg_nominal_overhead = o.cfg_nominal_overhead;
        i.ack_build.cfg_own_ip = o.cfg_own_ip;
        i.ack_build.cfg_own_mac = o.cfg_own_mac;
        i.ack_build.cfg_hop_mac = o.cfg_hop_mac;
        i.ack_build.cfg_dscp3 = o.cfg_dscp3;
        i.ack_build.cfg_ecn = o.cfg_ecn;
        i.ack_build.cfg_ttl = o.cfg_ttl;
        i.ack_build.cfg_range = o.cfg_range;
        i.ack_build.cfg_ack_extra = o.cfg_ack_extra;
        i.ack_build.cfg_icrc = o.cfg_icrc;
        i.ack_hold.cfg_wire_rate = o.cfg_wire_rate;
        i.ack_hold.cfg_pcie_rate = o.cfg_pcie_rate;
        i.ack_hold.cfg_charge_less = o.cfg_charge_less;
        i.ack_hold.cfg_ack_extra = o.cfg_ack_extra;
        i.ack_hold.cfg_icrc = o.cfg_icrc;
        i.ack_hold.cfg_penalty_low = o.cfg_penalty_low;
        i.ack_hold.cfg_penalty_high = o.cfg_penalty_high;
        i.ack_hold.cfg_ack_hold = o.cfg_ack_hold;
        i.ack_take.cfg_nominal_overhead = o.cfg_nominal_overhead;
        i.ack_take.cfg_loss = o.cfg_loss;
        i.packet_build.cfg_dscp2 = o.cfg_dscp2;
        i.packet_build.cfg_distinct_rtx = o.cfg_distinct_rtx;
        i.waits.rsp_ready = true;
        i.retransmit.cfg_timeout = o.cfg_timeout;
        i.path_probe.cfg_timeout = o.cfg_timeout;
        i.path_probe.cfg_icrc = o.cfg_icrc;
        i.packet_build.cfg_icrc = o.cfg_icrc;
        i.retransmit.cfg_linear = o.cfg_linear;
        i.retransmit.cfg_expo = o.cfg_expo;
        i.retransmit.cfg_fixed = o.cfg_fixed;
        i.retransmit.cfg_nominal_overhead = o.cfg_nominal_overhead;
        i.qp_drain.cfg_wire_overhead = o.cfg_wire_overhead;
        i.qp_drain.cfg_nominal_overhead = o.cfg_nominal_overhead;
        i.completion.cfg_cq_base = o.cfg_cq_base;
        i.completion.cfg_cq_log2 = o.cfg_cq_log2;
    }

    /// Readys, from sink to source.
    pub(super) fn connect_readys(&mut self) {
        let (b, i, o, wake) = (&self.b, &mut self.i, &mut self.o, &mut self.wake);
        ready(
            &mut i.tlp_parse.page_ready,
            o.page_fifo.in_ready,
            wake,
            at::page_fifo,
            at::tlp_parse,
        );
        ready(&mut i.page_fifo.out_ready, o.doorbell.page_ready, wake, at::doorbell, at::page_fifo);
        ready(&mut i.doorbell.qp_ready, o.qp_table.qp_ready, wake, at::qp_table, at::doorbell);
        ready(
            &mut i.sent_bitmap.rsp_ready,
            o.ack_take.map_rsp_ready,
            wake,
            at::ack_take,
            at::sent_bitmap,
        );
        if woken(*wake, at::sent_bitmap) {
            b.sent_bitmap.ready(&i.sent_bitmap, &mut o.sent_bitmap);
        }
        ready(
            &mut i.ack_take.map_ready,
            o.sent_bitmap.req_ready,
            wake,
            at::sent_bitmap,
            at::ack_take,
        );
        ready(
            &mut i.built_fifo.out_ready,
            o.ack_take.built_ready,
            wake,
            at::ack_take,
            at::built_fifo,
        );
        ready(&mut i.qp_drain.end_ready, o.qp_table.end_ready, wake, at::qp_table, at::qp_drain);
        ready(
            &mut i.qp_drain.purge_ready,
            o.ack_take.purge_ready,
            wake,
            at::ack_take,
            at::qp_drain,
        );
        ready(
            &mut i.payload_fetch.failed_ready,
            o.qp_drain.failed_ready,
            wake,
            at::qp_drain,
            at::payload_fetch,
        );
        ready(
            &mut i.doorbell.close_ready,
            o.rx_track.close_ready,
            wake,
            at::rx_track,
            at::doorbell,
        );
        ready(
            &mut i.tx_scheduler.sent_ready,
            o.completion.sent_ready,
            wake,
            at::completion,
            at::tx_scheduler,
        );
        ready(
            &mut i.payload_fetch.ord_ready,
            o.order_fifo.in_ready,
            wake,
            at::order_fifo,
            at::payload_fetch,
        );
        ready(
            &mut i.pcie_link.rpush_ready,
            o.pcie_reads.in_ready,
            wake,
            at::pcie_reads,
            at::pcie_link,
        );
        ready(
            &mut i.pcie_link.wpush_ready,
            o.pcie_writes.in_ready,
            wake,
            at::pcie_writes,
            at::pcie_link,
        );
        ready(
            &mut i.pcie_link.cpush_ready,
            o.pcie_cqes.in_ready,
            wake,
            at::pcie_cqes,
            at::pcie_link,
        );
        ready(
            &mut i.packet_build.build_ready,
            o.qp_table.build_ready,
            wake,
            at::qp_table,
            at::packet_build,
        );
        ready(
            &mut i.packet_build.frame_ready,
            o.dat_queue.in_ready,
            wake,
            at::dat_queue,
            at::packet_build,
        );
        ready(
            &mut i.ingress_pool.dat_ready,
            o.dat_fifo.in_ready,
            wake,
            at::dat_fifo,
            at::ingress_pool,
        );
        ready(
            &mut i.ingress_pool.ctl_ready,
            o.ctl_fifo.in_ready,
            wake,
            at::ctl_fifo,
            at::ingress_pool,
        );
        ready(&mut i.dat_fifo.out_ready, o.rx_track.in_ready, wake, at::rx_track, at::dat_fifo);
        ready(&mut i.ctl_fifo.out_ready, o.ack_take.in_ready, wake, at::ack_take, at::ctl_fifo);
        ready(
            &mut i.rx_bitmap.rsp_ready,
            o.rx_track.map_rsp_ready,
            wake,
            at::rx_track,
            at::rx_bitmap,
        );
        if woken(*wake, at::rx_bitmap) {
            b.rx_bitmap.ready(&i.rx_bitmap, &mut o.rx_bitmap);
        }
        ready(&mut i.rx_track.map_ready, o.rx_bitmap.req_ready, wake, at::rx_bitmap, at::rx_track);
        ready(
            &mut i.ack_hold.out_ready,
            o.ack_build.answer_ready,
            wake,
            at::ack_build,
            at::ack_hold,
        );
        ready(
            &mut i.ack_hold.held_ready,
            o.answer_fifo.in_ready,
            wake,
            at::answer_fifo,
            at::ack_hold,
        );
        ready(&mut i.ack_hold.nack_ready, o.nack_fifo.in_ready, wake, at::nack_fifo, at::ack_hold);
        if woken(*wake, at::ack_hold) {
            b.ack_hold.ready(&i.ack_hold, &mut o.ack_hold);
        }
        ready(&mut i.rx_track.answer_ready, o.ack_hold.in_ready, wake, at::ack_hold, at::rx_track);
        ready(
            &mut i.nack_fifo.out_ready,
            o.ack_hold.nhead_ready,
            wake,
            at::ack_hold,
            at::nack_fifo,
        );
        ready(
            &mut i.answer_fifo.out_ready,
            o.ack_hold.head_ready,
            wake,
            at::ack_hold,
            at::answer_fifo,
        );
        ready(
            &mut i.ack_build.frame_ready,
            o.ctl_queue.in_ready,
            wake,
            at::ctl_queue,
            at::ack_build,
        );
        ready(&mut i.ack_take.find_ready, o.qp_table.find_ready, wake, at::qp_table, at::ack_take);
        ready(&mut i.ack_take.upd_ready, o.qp_table.upd_ready, wake, at::qp_table, at::ack_take);
        ready(
            &mut i.completion.done_ready,
            o.qp_table.done_ready,
            wake,
            at::qp_table,
            at::completion,
        );
        if woken(*wake, at::replay_store) {
            b.replay_store.ready(&i.replay_store, &mut o.replay_store);
        }
        if woken(*wake, at::tlp_parse) {
            b.tlp_parse.ready(&i.tlp_parse, &mut o.tlp_parse);
        }
        ready(&mut i.rx_fifo.out_ready, o.tlp_parse.rx_ready, wake, at::tlp_parse, at::rx_fifo);
        ready(&mut i.pcie_room.out_ready, o.tlp_parse.rx_ready, wake, at::tlp_parse, at::pcie_room);
        ready(&mut i.pcie_room.in_ready, o.rx_fifo.in_ready, wake, at::rx_fifo, at::pcie_room);
        if woken(*wake, at::rx_fifo) {
            b.rx_fifo.ready(&i.rx_fifo, &mut o.rx_fifo);
        }
        if woken(*wake, at::path_select) {
            b.path_select.ready(&i.path_select, &mut o.path_select);
        }
        if woken(*wake, at::window) {
            b.window.ready(&i.window, &mut o.window);
        }
        ready(
            &mut i.packet_build.query_ready,
            o.window.query_ready,
            wake,
            at::window,
            at::packet_build,
        );
        ready(
            &mut i.packet_build.data_ready,
            o.path_select.data_ready,
            wake,
            at::path_select,
            at::packet_build,
        );
        ready(
            &mut i.packet_build.rec_ready,
            o.replay_store.build_ready,
            wake,
            at::replay_store,
            at::packet_build,
        );
        if woken(*wake, at::packet_build) {
            b.packet_build.ready(&i.packet_build, &mut o.packet_build);
        }
        if woken(*wake, at::pcie_link) {
            b.pcie_link.ready(&i.pcie_link, &mut o.pcie_link);
        }
        ready(
            &mut i.tlp_engine.tx_ready,
            o.pcie_link.tx_ready,
            wake,
            at::pcie_link,
            at::tlp_engine,
        );
        if woken(*wake, at::pcie_link) {
            level(&mut i.tlp_engine.tx_free, o.pcie_link.tx_free, wake, at::tlp_engine);
        }
        if woken(*wake, at::tlp_engine) {
            b.tlp_engine.ready(&i.tlp_engine, &mut o.tlp_engine);
        }
        ready(
            &mut i.payload_fetch.rd_ready,
            o.tlp_engine.rd_ready,
            wake,
            at::tlp_engine,
            at::payload_fetch,
        );
        ready(
            &mut i.payload_fetch.hand_ready,
            o.packet_build.hand_ready,
            wake,
            at::packet_build,
            at::payload_fetch,
        );
        if woken(*wake, at::payload_fetch) {
            b.payload_fetch.ready(&i.payload_fetch, &mut o.payload_fetch);
        }
        ready(
            &mut i.tx_scheduler.try_ready,
            o.window.try_ready,
            wake,
            at::window,
            at::tx_scheduler,
        );
        ready(
            &mut i.tx_scheduler.seg_ready,
            o.payload_fetch.seg_ready,
            wake,
            at::payload_fetch,
            at::tx_scheduler,
        );
        if woken(*wake, at::tx_scheduler) {
            b.tx_scheduler.ready(&i.tx_scheduler, &mut o.tx_scheduler);
        }
        ready(
            &mut i.completion.final_ready,
            o.replay_store.final_ready,
            wake,
            at::replay_store,
            at::completion,
        );
        ready(
            &mut i.completion.cqe_ready,
            o.tlp_engine.cqe_ready,
            wake,
            at::tlp_engine,
            at::completion,
        );
        if woken(*wake, at::completion) {
            b.completion.ready(&i.completion, &mut o.completion);
        }
        ready(
            &mut i.doorbell.post_sched_ready,
            o.tx_scheduler.post_ready,
            wake,
            at::tx_scheduler,
            at::doorbell,
        );
        ready(
            &mut i.doorbell.post_done_ready,
            o.completion.post_done_ready,
            wake,
            at::completion,
            at::doorbell,
        );
        ready(
            &mut i.doorbell.err_ready,
            o.completion.err_ready,
            wake,
            at::completion,
            at::doorbell,
        );
        if woken(*wake, at::doorbell) {
            b.doorbell.ready(&i.doorbell, &mut o.doorbell);
        }
        ready(&mut i.qp_table.open_ready, o.window.open_ready, wake, at::window, at::qp_table);
        if woken(*wake, at::qp_table) {
            b.qp_table.ready(&i.qp_table, &mut o.qp_table);
        }
        ready(
            &mut i.order_fifo.out_ready,
            o.payload_fetch.head_ready,
            wake,
            at::payload_fetch,
            at::order_fifo,
        );
        if woken(*wake, at::order_fifo) {
            b.order_fifo.ready(&i.order_fifo, &mut o.order_fifo);
        }
        ready(
            &mut i.pcie_reads.out_ready,
            o.pcie_link.rhead_ready,
            wake,
            at::pcie_link,
            at::pcie_reads,
        );
        if woken(*wake, at::pcie_reads) {
            b.pcie_reads.ready(&i.pcie_reads, &mut o.pcie_reads);
        }
        ready(
            &mut i.pcie_writes.out_ready,
            o.pcie_link.whead_ready,
            wake,
            at::pcie_link,
            at::pcie_writes,
        );
        if woken(*wake, at::pcie_writes) {
            b.pcie_writes.ready(&i.pcie_writes, &mut o.pcie_writes);
        }
        ready(
            &mut i.pcie_cqes.out_ready,
            o.pcie_link.chead_ready,
            wake,
            at::pcie_link,
            at::pcie_cqes,
        );
        if woken(*wake, at::pcie_cqes) {
            b.pcie_cqes.ready(&i.pcie_cqes, &mut o.pcie_cqes);
        }
        if woken(*wake, at::egress_arbiter) {
            b.egress_arbiter.ready(&i.egress_arbiter, &mut o.egress_arbiter);
        }
        ready(
            &mut i.pause_send.frame_ready,
            o.egress_arbiter.pfc_ready,
            wake,
            at::egress_arbiter,
            at::pause_send,
        );
        ready(
            &mut i.dat_queue.out_ready,
            o.egress_arbiter.cls_ready & 1 != 0,
            wake,
            at::egress_arbiter,
            at::dat_queue,
        );
        if woken(*wake, at::dat_queue) {
            b.dat_queue.ready(&i.dat_queue, &mut o.dat_queue);
        }
        ready(
            &mut i.ctl_queue.out_ready,
            o.egress_arbiter.cls_ready & 2 != 0,
            wake,
            at::egress_arbiter,
            at::ctl_queue,
        );
        if woken(*wake, at::ctl_queue) {
            b.ctl_queue.ready(&i.ctl_queue, &mut o.ctl_queue);
        }
        if woken(*wake, at::dat_fifo) {
            b.dat_fifo.ready(&i.dat_fifo, &mut o.dat_fifo);
        }
        if woken(*wake, at::ctl_fifo) {
            b.ctl_fifo.ready(&i.ctl_fifo, &mut o.ctl_fifo);
        }
        ready(
            &mut i.payload_write.wr_ready,
            o.tlp_engine.wr_ready,
            wake,
            at::tlp_engine,
            at::payload_write,
        );
        ready(
            &mut i.payload_write.comp_ready,
            o.completion.comp_ready,
            wake,
            at::completion,
            at::payload_write,
        );
        if woken(*wake, at::payload_write) {
            b.payload_write.ready(&i.payload_write, &mut o.payload_write);
        }
        ready(
            &mut i.deliver_fifo.out_ready,
            o.payload_write.in_ready,
            wake,
            at::payload_write,
            at::deliver_fifo,
        );
        if woken(*wake, at::deliver_fifo) {
            b.deliver_fifo.ready(&i.deliver_fifo, &mut o.deliver_fifo);
        }
        if woken(*wake, at::answer_fifo) {
            b.answer_fifo.ready(&i.answer_fifo, &mut o.answer_fifo);
        }
        if woken(*wake, at::nack_fifo) {
            b.nack_fifo.ready(&i.nack_fifo, &mut o.nack_fifo);
        }
        if woken(*wake, at::retransmit) {
            b.retransmit.ready(&i.retransmit, &mut o.retransmit);
        }
        ready(
            &mut i.timer_wheel.exp_ready,
            o.retransmit.exp_ready,
            wake,
            at::retransmit,
            at::timer_wheel,
        );
        if woken(*wake, at::timer_wheel) {
            b.timer_wheel.ready(&i.timer_wheel, &mut o.timer_wheel);
        }
        if woken(*wake, at::waits) {
            b.waits.ready(&i.waits, &mut o.waits);
        }
        // These go into registers only.
        ready(
            &mut i.retransmit.look_ready,
            o.replay_store.look_ready,
            wake,
            at::replay_store,
            at::retransmit,
        );
        ready(&mut i.retransmit.map_ready, o.waits.req_ready, wake, at::waits, at::retransmit);
        ready(&mut i.retransmit.loss_ready, o.window.lose_ready, wake, at::window, at::retransmit);
        ready(
            &mut i.retransmit.wait_ready,
            o.tx_scheduler.wait_ready,
            wake,
            at::tx_scheduler,
            at::retransmit,
        );
        ready(
            &mut i.path_probe.look_ready,
            o.path_select.look_ready,
            wake,
            at::path_select,
            at::path_probe,
        );
        ready(
            &mut i.path_probe.room_ready,
            o.tx_scheduler.room_ready,
            wake,
            at::tx_scheduler,
            at::path_probe,
        );
        ready(
            &mut i.path_probe.probe_ready,
            o.packet_build.probe_ready,
            wake,
            at::packet_build,
            at::path_probe,
        );
        if woken(*wake, at::path_probe) {
            b.path_probe.ready(&i.path_probe, &mut o.path_probe);
            i.tx_scheduler.room_bytes = o.path_probe.room_bytes;
        }
        ready(
            &mut i.retransmit.again_ready,
            o.packet_build.again_ready,
            wake,
            at::packet_build,
            at::retransmit,
        );
        ready(
            &mut i.retransmit.fail_ready,
            o.qp_drain.fail_ready,
            wake,
            at::qp_drain,
            at::retransmit,
        );
        ready(
            &mut i.tx_scheduler.ask_ready,
            o.retransmit.ask_ready,
            wake,
            at::retransmit,
            at::tx_scheduler,
        );
        ready(
            &mut i.qp_drain.drop_ready,
            o.tx_scheduler.drop_ready,
            wake,
            at::tx_scheduler,
            at::qp_drain,
        );
        ready(
            &mut i.qp_drain.seg_ready,
            o.payload_fetch.seg_ready,
            wake,
            at::payload_fetch,
            at::qp_drain,
        );
        ready(
            &mut i.qp_drain.hand_ready,
            o.packet_build.hand_ready,
            wake,
            at::packet_build,
            at::qp_drain,
        );
        ready(
            &mut i.qp_drain.toss_ready,
            o.replay_store.toss_ready,
            wake,
            at::replay_store,
            at::qp_drain,
        );
        ready(&mut i.qp_drain.flight_ready, o.window.toss_ready, wake, at::window, at::qp_drain);
        ready(
            &mut i.replay_store.slot_ready,
            o.tx_scheduler.slot_ready,
            wake,
            at::tx_scheduler,
            at::replay_store,
        );
        ready(
            &mut i.completion.msg_ready,
            o.doorbell.msg_ready,
            wake,
            at::doorbell,
            at::completion,
        );
        ready(
            &mut i.ack_build.ack_ready,
            o.path_select.ack_ready,
            wake,
            at::path_select,
            at::ack_build,
        );
        ready(
            &mut i.ack_take.retire_ready,
            o.retransmit.retire_ready,
            wake,
            at::retransmit,
            at::ack_take,
        );
        ready(
            &mut i.ack_take.lose_ready,
            o.retransmit.lose_ready,
            wake,
            at::retransmit,
            at::ack_take,
        );
        ready(&mut i.ack_take.sub_ready, o.window.sub_ready, wake, at::window, at::ack_take);
        ready(
            &mut i.ack_take.ack_ready,
            o.tx_scheduler.ack_ready,
            wake,
            at::tx_scheduler,
            at::ack_take,
        );
        ready(
            &mut i.ack_take.cover_ready,
            o.completion.cover_ready,
            wake,
            at::completion,
            at::ack_take,
        );
    }

    /// The edge of every memory; what was read is an input from the next clock on.
    pub(super) fn clock_memories(&mut self) {
        let (i, o, m, wake) = (&mut self.i, &self.o, &mut self.m, self.wake);
        if woken(wake, at::rx_fifo) {
            if o.rx_fifo.ram_re {
                self.stir |= 1 << at::rx_fifo;
                m.rx_fifo_ram.read(o.rx_fifo.ram_raddr);
                i.rx_fifo.ram_rdata = m.rx_fifo_ram.rdata;
                self.read |= 1 << 0;
            }
            if o.rx_fifo.ram_we {
                self.stir |= 1 << at::rx_fifo;
                m.rx_fifo_ram.write(o.rx_fifo.ram_waddr, o.rx_fifo.ram_wdata);
            }
        }
        if woken(wake, at::qp_table) {
            if o.qp_table.ctx_re {
                self.stir |= 1 << at::qp_table;
                m.qp_table_ctx.read(o.qp_table.ctx_raddr);
                i.qp_table.ctx_rdata = m.qp_table_ctx.rdata;
                self.read |= 1 << 1;
            }
            if o.qp_table.ctx_we {
                self.stir |= 1 << at::qp_table;
                m.qp_table_ctx.write(o.qp_table.ctx_waddr, o.qp_table.ctx_wdata);
            }
        }
        if woken(wake, at::window) {
            if o.window.win_re {
                self.stir |= 1 << at::window;
                m.window_win.read(o.window.win_raddr);
                i.window.win_rdata = m.window_win.rdata;
                self.read |= 1 << 2;
            }
            if o.window.win_we {
                self.stir |= 1 << at::window;
                m.window_win.write(o.window.win_waddr, o.window.win_wdata);
            }
        }
        if woken(wake, at::path_select) {
            if o.path_select.flag_re {
                self.stir |= 1 << at::path_select;
                m.path_select_flag.read(o.path_select.flag_raddr);
                i.path_select.flag_rdata = m.path_select_flag.rdata;
                self.read |= 1 << 54;
            }
            if o.path_select.flag_we {
                self.stir |= 1 << at::path_select;
                m.path_select_flag.write(o.path_select.flag_waddr, o.path_select.flag_wdata);
            }
            if o.path_select.next_re {
                self.stir |= 1 << at::path_select;
                m.path_select_next.read(o.path_select.next_raddr);
                i.path_select.next_rdata = m.path_select_next.rdata;
                self.read |= 1 << 55;
            }
            if o.path_select.next_we {
                self.stir |= 1 << at::path_select;
                m.path_select_next.write(o.path_select.next_waddr, o.path_select.next_wdata);
            }
            if o.path_select.prev_re {
                self.stir |= 1 << at::path_select;
                m.path_select_prev.read(o.path_select.prev_raddr);
                i.path_select.prev_rdata = m.path_select_prev.rdata;
                self.read |= 1 << 56;
            }
            if o.path_select.prev_we {
                self.stir |= 1 << at::path_select;
                m.path_select_prev.write(o.path_select.prev_waddr, o.path_select.prev_wdata);
            }
        }
        if woken(wake, at::path_probe) {
            if o.path_probe.due_re {
                self.stir |= 1 << at::path_probe;
                m.path_probe_due.read(o.path_probe.due_raddr);
                i.path_probe.due_rdata = m.path_probe_due.rdata;
                self.read |= 1 << 57;
            }
            if o.path_probe.due_we {
                self.stir |= 1 << at::path_probe;
                m.path_probe_due.write(o.path_probe.due_waddr, o.path_probe.due_wdata);
            }
            if o.path_probe.at_re {
                self.stir |= 1 << at::path_probe;
                m.path_probe_at.read(o.path_probe.at_raddr);
                i.path_probe.at_rdata = m.path_probe_at.rdata;
                self.read |= 1 << 58;
            }
            if o.path_probe.at_we {
                self.stir |= 1 << at::path_probe;
                m.path_probe_at.write(o.path_probe.at_waddr, o.path_probe.at_wdata);
            }
        }
        if woken(wake, at::tx_scheduler) {
            if o.tx_scheduler.qctx_re {
                self.stir |= 1 << at::tx_scheduler;
                m.tx_scheduler_qctx.read(o.tx_scheduler.qctx_raddr);
                i.tx_scheduler.qctx_rdata = m.tx_scheduler_qctx.rdata;
                self.read |= 1 << 3;
            }
            if o.tx_scheduler.qctx_we {
                self.stir |= 1 << at::tx_scheduler;
                m.tx_scheduler_qctx.write(o.tx_scheduler.qctx_waddr, o.tx_scheduler.qctx_wdata);
            }
            if o.tx_scheduler.smsg_re {
                self.stir |= 1 << at::tx_scheduler;
                m.tx_scheduler_smsg.read(o.tx_scheduler.smsg_raddr);
                i.tx_scheduler.smsg_rdata = m.tx_scheduler_smsg.rdata;
                self.read |= 1 << 4;
            }
            if o.tx_scheduler.smsg_we {
                self.stir |= 1 << at::tx_scheduler;
                m.tx_scheduler_smsg.write(o.tx_scheduler.smsg_waddr, o.tx_scheduler.smsg_wdata);
            }
            if o.tx_scheduler.work_re {
                self.stir |= 1 << at::tx_scheduler;
                m.tx_scheduler_work.read(o.tx_scheduler.work_raddr);
                i.tx_scheduler.work_rdata = m.tx_scheduler_work.rdata;
                self.read |= 1 << 5;
            }
            if o.tx_scheduler.work_we {
                self.stir |= 1 << at::tx_scheduler;
                m.tx_scheduler_work.write(o.tx_scheduler.work_waddr, o.tx_scheduler.work_wdata);
            }
        }
        if woken(wake, at::replay_store) {
            if o.replay_store.map_re {
                self.stir |= 1 << at::replay_store;
                m.replay_store_map.read(o.replay_store.map_raddr);
                i.replay_store.map_rdata = m.replay_store_map.rdata;
                self.read |= 1 << 6;
            }
            if o.replay_store.map_we {
                self.stir |= 1 << at::replay_store;
                m.replay_store_map.write(o.replay_store.map_waddr, o.replay_store.map_wdata);
            }
            if o.replay_store.rec_re {
                self.stir |= 1 << at::replay_store;
                m.replay_store_rec.read(o.replay_store.rec_raddr);
                i.replay_store.rec_rdata = m.replay_store_rec.rdata;
                self.read |= 1 << 7;
            }
            if o.replay_store.rec_we {
                self.stir |= 1 << at::replay_store;
                m.replay_store_rec.write(o.replay_store.rec_waddr, o.replay_store.rec_wdata);
            }
            if o.replay_store.path_re {
                self.stir |= 1 << at::replay_store;
                m.replay_store_path.read(o.replay_store.path_raddr);
                i.replay_store.path_rdata = m.replay_store_path.rdata;
                self.read |= 1 << 29;
            }
            if o.replay_store.path_we {
                self.stir |= 1 << at::replay_store;
                m.replay_store_path.write(o.replay_store.path_waddr, o.replay_store.path_wdata);
            }
            if o.replay_store.fl_re {
                self.stir |= 1 << at::replay_store;
                m.replay_store_fl.read(o.replay_store.fl_raddr);
                i.replay_store.path_rdata = m.replay_store_path.rdata;
                i.retransmit.tims_rdata = m.retransmit_tims.rdata;
                i.retransmit.tim_rdata = m.retransmit_tim.rdata;
                i.retransmit.at_rdata = m.retransmit_at.rdata;
                i.timer_wheel.rec_rdata = m.timer_wheel_rec.rdata;
                i.timer_wheel.spoke_rdata = m.timer_wheel_spoke.rdata;
                i.waits.bits_rdata = m.waits_bits.rdata;
                i.waits.any_rdata = m.waits_any.rdata;
                i.replay_store.fl_rdata = m.replay_store_fl.rdata;
                self.read |= 1 << 8;
            }
            if o.replay_store.fl_we {
                self.stir |= 1 << at::replay_store;
                m.replay_store_fl.write(o.replay_store.fl_waddr, o.replay_store.fl_wdata);
            }
        }
        if woken(wake, at::port_tx) && o.port_tx.bank_re & 1 == 1 {
            self.stir |= 1 << at::port_tx;
            m.replay0.read(o.port_tx.bank_raddr0);
            i.port_tx.bank_rdata0 = m.replay0.rdata;
            self.read |= 1 << 9;
        }
        if woken(wake, at::payload_fetch) && o.payload_fetch.bank_we & 1 == 1 {
            self.stir |= 1 << at::payload_fetch;
            m.replay0.write(o.payload_fetch.bank_waddr, o.payload_fetch.bank_wdata);
        }
        if woken(wake, at::port_tx) && o.port_tx.bank_re >> 1 & 1 == 1 {
            self.stir |= 1 << at::port_tx;
            m.replay1.read(o.port_tx.bank_raddr1);
            i.port_tx.bank_rdata1 = m.replay1.rdata;
            self.read |= 1 << 10;
        }
        if woken(wake, at::retransmit) {
            if o.retransmit.tims_re {
                self.stir |= 1 << at::retransmit;
                m.retransmit_tims.read(o.retransmit.tims_raddr);
                i.retransmit.tims_rdata = m.retransmit_tims.rdata;
                self.read |= 1 << 30;
            }
            if o.retransmit.tim_we {
                self.stir |= 1 << at::retransmit;
                m.retransmit_tims.write(o.retransmit.tim_waddr, o.retransmit.tim_wdata);
            }
            if o.retransmit.tim_re {
                self.stir |= 1 << at::retransmit;
                m.retransmit_tim.read(o.retransmit.tim_raddr);
                i.retransmit.tim_rdata = m.retransmit_tim.rdata;
                self.read |= 1 << 31;
            }
            if o.retransmit.tim_we {
                self.stir |= 1 << at::retransmit;
                m.retransmit_tim.write(o.retransmit.tim_waddr, o.retransmit.tim_wdata);
            }
            if o.retransmit.at_re {
                self.stir |= 1 << at::retransmit;
                m.retransmit_at.read(o.retransmit.at_raddr);
                i.retransmit.at_rdata = m.retransmit_at.rdata;
                self.read |= 1 << 32;
            }
            if o.retransmit.at_we {
                self.stir |= 1 << at::retransmit;
                m.retransmit_at.write(o.retransmit.at_waddr, o.retransmit.at_wdata);
            }
        }
        if woken(wake, at::timer_wheel) {
            if o.timer_wheel.rec_re {
                self.stir |= 1 << at::timer_wheel;
                m.timer_wheel_rec.read(o.timer_wheel.rec_raddr);
                i.timer_wheel.rec_rdata = m.timer_wheel_rec.rdata;
                self.read |= 1 << 33;
            }
            if o.timer_wheel.rec_we {
                self.stir |= 1 << at::timer_wheel;
                m.timer_wheel_rec.write(o.timer_wheel.rec_waddr, o.timer_wheel.rec_wdata);
            }
            if o.timer_wheel.spoke_re {
                self.stir |= 1 << at::timer_wheel;
                m.timer_wheel_spoke.read(o.timer_wheel.spoke_raddr);
                i.timer_wheel.spoke_rdata = m.timer_wheel_spoke.rdata;
                self.read |= 1 << 34;
            }
            if o.timer_wheel.spoke_we {
                self.stir |= 1 << at::timer_wheel;
                m.timer_wheel_spoke.write(o.timer_wheel.spoke_waddr, o.timer_wheel.spoke_wdata);
            }
        }
        if woken(wake, at::waits) {
            if o.waits.bits_re {
                self.stir |= 1 << at::waits;
                m.waits_bits.read(o.waits.bits_raddr);
                i.waits.bits_rdata = m.waits_bits.rdata;
                self.read |= 1 << 35;
            }
            if o.waits.bits_we {
                self.stir |= 1 << at::waits;
                m.waits_bits.write(o.waits.bits_waddr, o.waits.bits_wdata);
            }
            if o.waits.any_re {
                self.stir |= 1 << at::waits;
                m.waits_any.read(o.waits.any_raddr);
                i.waits.any_rdata = m.waits_any.rdata;
                self.read |= 1 << 36;
            }
            if o.waits.any_we {
                self.stir |= 1 << at::waits;
                m.waits_any.write(o.waits.any_waddr, o.waits.any_wdata);
            }
        }
        if woken(wake, at::payload_fetch) {
            if o.payload_fetch.bank_we >> 1 & 1 == 1 {
                self.stir |= 1 << at::payload_fetch;
                m.replay1.write(o.payload_fetch.bank_waddr, o.payload_fetch.bank_wdata);
            }
            if o.payload_fetch.tagr_re {
                self.stir |= 1 << at::payload_fetch;
                m.payload_fetch_tagr.read(o.payload_fetch.tagr_raddr);
                i.payload_fetch.tagr_rdata = m.payload_fetch_tagr.rdata;
                self.read |= 1 << 11;
            }
            if o.payload_fetch.tagr_we {
                self.stir |= 1 << at::payload_fetch;
                m.payload_fetch_tagr.write(o.payload_fetch.tagr_waddr, o.payload_fetch.tagr_wdata);
            }
        }
        if woken(wake, at::order_fifo) {
            if o.order_fifo.ram_re {
                self.stir |= 1 << at::order_fifo;
                m.order_fifo_ram.read(o.order_fifo.ram_raddr);
                i.order_fifo.ram_rdata = m.order_fifo_ram.rdata;
                self.read |= 1 << 12;
            }
            if o.order_fifo.ram_we {
                self.stir |= 1 << at::order_fifo;
                m.order_fifo_ram.write(o.order_fifo.ram_waddr, o.order_fifo.ram_wdata);
            }
        }
        if woken(wake, at::pcie_link) {
            if o.pcie_link.buf_re {
                self.stir |= 1 << at::pcie_link;
                m.pcie_link_buf.read(o.pcie_link.buf_raddr);
                i.pcie_link.buf_rdata = m.pcie_link_buf.rdata;
                self.read |= 1 << 13;
            }
            if o.pcie_link.buf_we {
                self.stir |= 1 << at::pcie_link;
                m.pcie_link_buf.write(o.pcie_link.buf_waddr, o.pcie_link.buf_wdata);
            }
        }
        if woken(wake, at::pcie_reads) {
            if o.pcie_reads.ram_re {
                self.stir |= 1 << at::pcie_reads;
                m.pcie_reads_ram.read(o.pcie_reads.ram_raddr);
                i.pcie_reads.ram_rdata = m.pcie_reads_ram.rdata;
                self.read |= 1 << 14;
            }
            if o.pcie_reads.ram_we {
                self.stir |= 1 << at::pcie_reads;
                m.pcie_reads_ram.write(o.pcie_reads.ram_waddr, o.pcie_reads.ram_wdata);
            }
        }
        if woken(wake, at::pcie_writes) {
            if o.pcie_writes.ram_re {
                self.stir |= 1 << at::pcie_writes;
                m.pcie_writes_ram.read(o.pcie_writes.ram_raddr);
                i.pcie_writes.ram_rdata = m.pcie_writes_ram.rdata;
                self.read |= 1 << 15;
            }
            if o.pcie_writes.ram_we {
                self.stir |= 1 << at::pcie_writes;
                m.pcie_writes_ram.write(o.pcie_writes.ram_waddr, o.pcie_writes.ram_wdata);
            }
        }
        if woken(wake, at::pcie_cqes) {
            if o.pcie_cqes.ram_re {
                self.stir |= 1 << at::pcie_cqes;
                m.pcie_cqes_ram.read(o.pcie_cqes.ram_raddr);
                i.pcie_cqes.ram_rdata = m.pcie_cqes_ram.rdata;
                self.read |= 1 << 16;
            }
            if o.pcie_cqes.ram_we {
                self.stir |= 1 << at::pcie_cqes;
                m.pcie_cqes_ram.write(o.pcie_cqes.ram_waddr, o.pcie_cqes.ram_wdata);
            }
        }
        if woken(wake, at::dat_queue) {
            if o.dat_queue.ram_re {
                self.stir |= 1 << at::dat_queue;
                m.dat_queue_ram.read(o.dat_queue.ram_raddr);
                i.dat_queue.ram_rdata = m.dat_queue_ram.rdata;
                self.read |= 1 << 17;
            }
            if o.dat_queue.ram_we {
                self.stir |= 1 << at::dat_queue;
                m.dat_queue_ram.write(o.dat_queue.ram_waddr, o.dat_queue.ram_wdata);
            }
        }
        if woken(wake, at::ctl_queue) {
            if o.ctl_queue.ram_re {
                self.stir |= 1 << at::ctl_queue;
                m.ctl_queue_ram.read(o.ctl_queue.ram_raddr);
                i.ctl_queue.ram_rdata = m.ctl_queue_ram.rdata;
                self.read |= 1 << 18;
            }
            if o.ctl_queue.ram_we {
                self.stir |= 1 << at::ctl_queue;
                m.ctl_queue_ram.write(o.ctl_queue.ram_waddr, o.ctl_queue.ram_wdata);
            }
        }
        if woken(wake, at::payload_write) && o.payload_write.ring_re {
            self.stir |= 1 << at::payload_write;
            m.ingress_ring.read(o.payload_write.ring_raddr);
            i.payload_write.ring_rdata = m.ingress_ring.rdata;
            self.read |= 1 << 19;
        }
        if woken(wake, at::ingress_pool) && o.ingress_pool.ring_we {
            self.stir |= 1 << at::ingress_pool;
            m.ingress_ring.write(o.ingress_pool.ring_waddr, o.ingress_pool.ring_wdata);
        }
        if woken(wake, at::dat_fifo) {
            if o.dat_fifo.ram_re {
                self.stir |= 1 << at::dat_fifo;
                m.dat_fifo_ram.read(o.dat_fifo.ram_raddr);
                i.dat_fifo.ram_rdata = m.dat_fifo_ram.rdata;
                self.read |= 1 << 20;
            }
            if o.dat_fifo.ram_we {
                self.stir |= 1 << at::dat_fifo;
                m.dat_fifo_ram.write(o.dat_fifo.ram_waddr, o.dat_fifo.ram_wdata);
            }
        }
        if woken(wake, at::ctl_fifo) {
            if o.ctl_fifo.ram_re {
                self.stir |= 1 << at::ctl_fifo;
                m.ctl_fifo_ram.read(o.ctl_fifo.ram_raddr);
                i.ctl_fifo.ram_rdata = m.ctl_fifo_ram.rdata;
                self.read |= 1 << 21;
            }
            if o.ctl_fifo.ram_we {
                self.stir |= 1 << at::ctl_fifo;
                m.ctl_fifo_ram.write(o.ctl_fifo.ram_waddr, o.ctl_fifo.ram_wdata);
            }
        }
        if woken(wake, at::rx_track) {
            if o.rx_track.peer_re {
                self.stir |= 1 << at::rx_track;
                m.rx_track_peer.read(o.rx_track.peer_raddr);
                i.rx_track.peer_rdata = m.rx_track_peer.rdata;
                self.read |= 1 << 22;
            }
            if o.rx_track.peer_we {
                self.stir |= 1 << at::rx_track;
                m.rx_track_peer.write(o.rx_track.peer_waddr, o.rx_track.peer_wdata);
            }
            if o.rx_track.rctx_re {
                self.stir |= 1 << at::rx_track;
                m.rx_track_rctx.read(o.rx_track.rctx_raddr);
                i.rx_track.rctx_rdata = m.rx_track_rctx.rdata;
                self.read |= 1 << 23;
            }
            if o.rx_track.rctx_we {
                self.stir |= 1 << at::rx_track;
                m.rx_track_rctx.write(o.rx_track.rctx_waddr, o.rx_track.rctx_wdata);
            }
            if o.rx_track.ends_re {
                self.stir |= 1 << at::rx_track;
                m.rx_track_ends.read(o.rx_track.ends_raddr);
                i.rx_track.ends_rdata = m.rx_track_ends.rdata;
                self.read |= 1 << 43;
            }
            if o.rx_track.ends_we {
                self.stir |= 1 << at::rx_track;
                m.rx_track_ends.write(o.rx_track.ends_waddr, o.rx_track.ends_wdata);
            }
        }
        if woken(wake, at::rx_bitmap) {
            if o.rx_bitmap.bits_re {
                self.stir |= 1 << at::rx_bitmap;
                m.rx_bitmap_bits.read(o.rx_bitmap.bits_raddr);
                i.rx_bitmap.bits_rdata = m.rx_bitmap_bits.rdata;
                self.read |= 1 << 40;
            }
            if o.rx_bitmap.bits_we {
                self.stir |= 1 << at::rx_bitmap;
                m.rx_bitmap_bits.write(o.rx_bitmap.bits_waddr, o.rx_bitmap.bits_wdata);
            }
            if o.rx_bitmap.mark_re {
                self.stir |= 1 << at::rx_bitmap;
                m.rx_bitmap_mark.read(o.rx_bitmap.mark_raddr);
                i.rx_bitmap.mark_rdata = m.rx_bitmap_mark.rdata;
                self.read |= 1 << 41;
            }
            if o.rx_bitmap.mark_we {
                self.stir |= 1 << at::rx_bitmap;
                m.rx_bitmap_mark.write(o.rx_bitmap.mark_waddr, o.rx_bitmap.mark_wdata);
            }
            if o.rx_bitmap.any_re {
                self.stir |= 1 << at::rx_bitmap;
                m.rx_bitmap_any.read(o.rx_bitmap.any_raddr);
                i.rx_bitmap.any_rdata = m.rx_bitmap_any.rdata;
                self.read |= 1 << 42;
            }
            if o.rx_bitmap.any_we {
                self.stir |= 1 << at::rx_bitmap;
                m.rx_bitmap_any.write(o.rx_bitmap.any_waddr, o.rx_bitmap.any_wdata);
            }
        }
        if woken(wake, at::deliver_fifo) {
            if o.deliver_fifo.ram_re {
                self.stir |= 1 << at::deliver_fifo;
                m.deliver_fifo_ram.read(o.deliver_fifo.ram_raddr);
                i.deliver_fifo.ram_rdata = m.deliver_fifo_ram.rdata;
                self.read |= 1 << 24;
            }
            if o.deliver_fifo.ram_we {
                self.stir |= 1 << at::deliver_fifo;
                m.deliver_fifo_ram.write(o.deliver_fifo.ram_waddr, o.deliver_fifo.ram_wdata);
            }
        }
        if woken(wake, at::answer_fifo) {
            if o.answer_fifo.ram_re {
                self.stir |= 1 << at::answer_fifo;
                m.answer_fifo_ram.read(o.answer_fifo.ram_raddr);
                i.answer_fifo.ram_rdata = m.answer_fifo_ram.rdata;
                self.read |= 1 << 25;
            }
            if o.answer_fifo.ram_we {
                self.stir |= 1 << at::answer_fifo;
                m.answer_fifo_ram.write(o.answer_fifo.ram_waddr, o.answer_fifo.ram_wdata);
            }
        }
        if woken(wake, at::nack_fifo) {
            if o.nack_fifo.ram_re {
                self.stir |= 1 << at::nack_fifo;
                m.nack_fifo_ram.read(o.nack_fifo.ram_raddr);
                i.nack_fifo.ram_rdata = m.nack_fifo_ram.rdata;
                self.read |= 1 << 44;
            }
            if o.nack_fifo.ram_we {
                self.stir |= 1 << at::nack_fifo;
                m.nack_fifo_ram.write(o.nack_fifo.ram_waddr, o.nack_fifo.ram_wdata);
            }
        }
        if woken(wake, at::sent_bitmap) {
            if o.sent_bitmap.bits_re {
                self.stir |= 1 << at::sent_bitmap;
                m.sent_bitmap_bits.read(o.sent_bitmap.bits_raddr);
                i.sent_bitmap.bits_rdata = m.sent_bitmap_bits.rdata;
                self.read |= 1 << 52;
            }
            if o.sent_bitmap.bits_we {
                self.stir |= 1 << at::sent_bitmap;
                m.sent_bitmap_bits.write(o.sent_bitmap.bits_waddr, o.sent_bitmap.bits_wdata);
            }
            if o.sent_bitmap.any_re {
                self.stir |= 1 << at::sent_bitmap;
                m.sent_bitmap_any.read(o.sent_bitmap.any_raddr);
                i.sent_bitmap.any_rdata = m.sent_bitmap_any.rdata;
                self.read |= 1 << 53;
            }
            if o.sent_bitmap.any_we {
                self.stir |= 1 << at::sent_bitmap;
                m.sent_bitmap_any.write(o.sent_bitmap.any_waddr, o.sent_bitmap.any_wdata);
            }
        }
        if woken(wake, at::completion) {
            if o.completion.cmsg_re {
                self.stir |= 1 << at::completion;
                m.completion_cmsg.read(o.completion.cmsg_raddr);
                i.sent_bitmap.bits_rdata = m.sent_bitmap_bits.rdata;
                i.sent_bitmap.any_rdata = m.sent_bitmap_any.rdata;
                i.completion.cmsg_rdata = m.completion_cmsg.rdata;
                self.read |= 1 << 26;
            }
            if o.completion.cmsg_we {
                self.stir |= 1 << at::completion;
                m.completion_cmsg.write(o.completion.cmsg_waddr, o.completion.cmsg_wdata);
            }
            if o.completion.cqp_re {
                self.stir |= 1 << at::completion;
                m.completion_cqp.read(o.completion.cqp_raddr);
                i.completion.cqp_rdata = m.completion_cqp.rdata;
                self.read |= 1 << 27;
            }
            if o.completion.cqp_we {
                self.stir |= 1 << at::completion;
                m.completion_cqp.write(o.completion.cqp_waddr, o.completion.cqp_wdata);
            }
            if o.completion.fl_re {
                self.stir |= 1 << at::completion;
                m.completion_fl.read(o.completion.fl_raddr);
                i.completion.fl_rdata = m.completion_fl.rdata;
                self.read |= 1 << 28;
            }
            if o.completion.fl_we {
                self.stir |= 1 << at::completion;
                m.completion_fl.write(o.completion.fl_waddr, o.completion.fl_wdata);
            }
        }
    }

    /// What memories have read, all of it.
    pub(super) fn connect_memories(&mut self) {
        let (i, m) = (&mut self.i, &self.m);
        i.rx_fifo.ram_rdata = m.rx_fifo_ram.rdata;
        i.qp_table.ctx_rdata = m.qp_table_ctx.rdata;
        i.window.win_rdata = m.window_win.rdata;
        i.tx_scheduler.qctx_rdata = m.tx_scheduler_qctx.rdata;
        i.tx_scheduler.smsg_rdata = m.tx_scheduler_smsg.rdata;
        i.tx_scheduler.work_rdata = m.tx_scheduler_work.rdata;
        i.replay_store.map_rdata = m.replay_store_map.rdata;
        i.replay_store.rec_rdata = m.replay_store_rec.rdata;
        i.replay_store.fl_rdata = m.replay_store_fl.rdata;
        i.payload_fetch.tagr_rdata = m.payload_fetch_tagr.rdata;
        i.order_fifo.ram_rdata = m.order_fifo_ram.rdata;
        i.path_select.flag_rdata = m.path_select_flag.rdata;
        i.path_select.next_rdata = m.path_select_next.rdata;
        i.path_select.prev_rdata = m.path_select_prev.rdata;
        i.path_probe.due_rdata = m.path_probe_due.rdata;
        i.path_probe.at_rdata = m.path_probe_at.rdata;
        i.pcie_link.buf_rdata = m.pcie_link_buf.rdata;
        i.pcie_reads.ram_rdata = m.pcie_reads_ram.rdata;
        i.pcie_writes.ram_rdata = m.pcie_writes_ram.rdata;
        i.pcie_cqes.ram_rdata = m.pcie_cqes_ram.rdata;
        i.dat_queue.ram_rdata = m.dat_queue_ram.rdata;
        i.ctl_queue.ram_rdata = m.ctl_queue_ram.rdata;
        i.port_tx.bank_rdata0 = m.replay0.rdata;
        i.port_tx.bank_rdata1 = m.replay1.rdata;
        i.dat_fifo.ram_rdata = m.dat_fifo_ram.rdata;
        i.ctl_fifo.ram_rdata = m.ctl_fifo_ram.rdata;
        i.rx_track.peer_rdata = m.rx_track_peer.rdata;
        i.rx_track.rctx_rdata = m.rx_track_rctx.rdata;
        i.rx_track.ends_rdata = m.rx_track_ends.rdata;
        i.rx_bitmap.bits_rdata = m.rx_bitmap_bits.rdata;
        i.rx_bitmap.mark_rdata = m.rx_bitmap_mark.rdata;
        i.rx_bitmap.any_rdata = m.rx_bitmap_any.rdata;
        i.deliver_fifo.ram_rdata = m.deliver_fifo_ram.rdata;
        i.payload_write.ring_rdata = m.ingress_ring.rdata;
        i.answer_fifo.ram_rdata = m.answer_fifo_ram.rdata;
        i.nack_fifo.ram_rdata = m.nack_fifo_ram.rdata;
        i.completion.cmsg_rdata = m.completion_cmsg.rdata;
        i.completion.cqp_rdata = m.completion_cqp.rdata;
        i.completion.fl_rdata = m.completion_fl.rdata;
    }

    /// The NIC's own ports.
    pub(super) fn connect_ports(&mut self, ports: &Inputs) {
        let (i, wake) = (&mut self.i, &mut self.wake);
        valid(&mut i.timer_wheel.tick, ports.tick, wake, at::timer_wheel);
        // The count wakes nobody: it is looked at when a packet has been sent.
        i.retransmit.now = ports.now;
        i.path_probe.now = ports.now;
        if valid(&mut i.rx_fifo.in_valid, ports.rx_valid, wake, at::rx_fifo) {
            i.rx_fifo.in_data = ports.rx;
        }
        if valid(&mut i.pcie_room.in_valid, ports.rx_valid, wake, at::pcie_room) {
            i.pcie_room.in_sop = ports.rx.sop;
            i.pcie_room.in_dws = ports.rx.dws;
        }
        if valid(&mut i.pcie_link.room_valid, ports.room_valid, wake, at::pcie_link) {
            i.pcie_link.room_hdr = ports.room_hdr;
            i.pcie_link.room_data = ports.room_data;
        }
        if valid(&mut i.port_rx.wire_valid, ports.wire_valid, wake, at::port_rx) {
            i.port_rx.wire_sop = ports.wire_sop;
            i.port_rx.wire_eop = ports.wire_eop;
            i.port_rx.wire_bytes = ports.wire_bytes;
            i.port_rx.wire_data = ports.wire_data;
        }
    }
}
