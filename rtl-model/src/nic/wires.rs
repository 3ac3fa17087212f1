//! The wires between the blocks of the NIC: the twin of the port connections in `hdl/nic.sv`.
//!
//! Data moves with its valid: an input that no valid vouches for keeps what it had, and no block
//! looks at it. Where a ready is made of data it is looked at without its valid, and so it moves
//! as it is. A block that sees another input than in the clock before is woken.

// One line a wire: a function is as long as its part of the NIC has wires.
#![allow(clippy::too_many_lines)]

use super::{Inputs, Nic, at, ram};
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
        level(&mut i.pcie_room.in_ready, o.in_ready, wake, at::pcie_room);
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
        level(&mut i.tlp_parse.page_ready, o.in_ready, wake, at::tlp_parse);
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
        level(&mut i.page_fifo.out_ready, o.page_ready, wake, at::page_fifo);
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
        level(&mut i.doorbell.qp_ready, o.qp_ready, wake, at::doorbell);
        level(&mut i.qp_drain.end_ready, o.end_ready, wake, at::qp_drain);
        level(&mut i.packet_build.build_ready, o.build_ready, wake, at::packet_build);
        level(&mut i.ack_take.find_ready, o.find_ready, wake, at::ack_take);
        level(&mut i.ack_take.upd_ready, o.upd_ready, wake, at::ack_take);
        level(&mut i.completion.done_ready, o.done_ready, wake, at::completion);
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
        if valid(&mut i.prefetch_pool.drop_valid, o.unfetch_valid, wake, at::prefetch_pool) {
            i.prefetch_pool.drop_bytes = o.unresv_bytes;
        }
        level(&mut i.payload_fetch.failed_ready, o.failed_ready, wake, at::payload_fetch);
        level(&mut i.retransmit.fail_ready, o.fail_ready, wake, at::retransmit);
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
        if valid(&mut i.rtt_sample.probe_valid, o.sample_valid, wake, at::rtt_sample) {
            i.rtt_sample.probe_at = o.sample_at;
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
            i.retransmit.ask_copy = o.ask_copy;
        }
        level(&mut i.ack_ask.copy_done, o.copy_done, wake, at::ack_ask);
        if valid(&mut i.retransmit.end_valid, o.end_valid, wake, at::retransmit) {
            i.retransmit.end_take = o.end_take;
        }
        if valid(&mut i.completion.sent_valid, o.sent_valid, wake, at::completion) {
            i.completion.sent_qp = o.sent_qp;
            i.completion.sent_msg = o.sent_msg;
            i.completion.sent_slot = o.sent_slot;
            i.completion.sent_psn = o.sent_psn;
        }
        if valid(&mut i.ack_ask.sent_valid, o.sent_valid, wake, at::ack_ask) {
            i.ack_ask.sent_qp = o.sent_qp;
            i.ack_ask.sent_msg = o.sent_msg;
            i.ack_ask.sent_slot = o.sent_slot;
            i.ack_ask.sent_first = o.sent_first;
            i.ack_ask.sent_psn = o.sent_psn;
        }
        valid(&mut i.payload_fetch.seg_valid, o.seg_valid, wake, at::payload_fetch);
        level(&mut i.payload_fetch.seg, o.seg, wake, at::payload_fetch);
        if valid(&mut i.qp_drain.seg_valid, o.seg_valid, wake, at::qp_drain) {
            i.qp_drain.seg = o.seg;
        }
        if valid(&mut i.egress_arbiter.resv_valid, o.resv_valid, wake, at::egress_arbiter) {
            i.egress_arbiter.resv_bytes = o.resv_bytes;
        }
        valid(&mut i.prefetch_pool.take_valid, o.take_valid, wake, at::prefetch_pool);
        valid(&mut i.prefetch_pool.commit_valid, o.give_valid, wake, at::prefetch_pool);
        if o.take_valid || o.give_valid {
            i.prefetch_pool.bytes = o.resv_bytes;
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
            i.ack_take.retire_rsp_sent = o.retire_rsp_sent;
            i.ack_take.retire_rsp_at = o.retire_rsp_at;
        }
        if valid(&mut i.ack_take.lose_rsp_valid, o.lose_rsp_valid, wake, at::ack_take) {
            i.ack_take.lose_rsp_queued = o.lose_rsp_queued;
            i.ack_take.lose_rsp_fatal = o.lose_rsp_fatal;
            i.ack_take.lose_rsp_sent = o.lose_rsp_sent;
            i.ack_take.lose_rsp_at = o.lose_rsp_at;
        }
        if valid(&mut i.replay_store.look_valid, o.look_valid, wake, at::replay_store) {
            i.replay_store.look_op = o.look_op;
            i.replay_store.look_qp = o.look_qp;
            i.replay_store.look_psn = o.look_psn;
            i.replay_store.look_slot = o.look_slot;
            i.replay_store.look_discard = o.look_discard;
        }
        valid(&mut i.replay_store.hold_valid, o.hold_valid, wake, at::replay_store);
        level(&mut i.replay_store.copying, o.copying, wake, at::replay_store);
        i.replay_store.hold_slot = o.hold_slot;
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
        i.ack_ask.ticks = o.now;
        if valid(&mut i.retransmit.exp_valid, o.exp_valid, wake, at::retransmit) {
            i.retransmit.exp_slot = o.exp_slot;
            i.retransmit.exp_gen = o.exp_gen;
        }
    }

    pub fn ask_wheel(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.ask_wheel, &mut nic.wake);
        if valid(&mut i.ack_ask.exp_valid, o.exp_valid, wake, at::ack_ask) {
            i.ack_ask.exp_slot = o.exp_slot;
            i.ack_ask.exp_tick = o.exp_tick;
        }
    }

    pub fn ack_ask(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.ack_ask, &mut nic.wake);
        if valid(&mut i.ask_wheel.arm_valid, o.arm_valid, wake, at::ask_wheel) {
            i.ask_wheel.arm_slot = o.arm_slot;
            i.ask_wheel.arm_start = o.arm_start;
        }
        if valid(&mut i.ask_wheel.cancel_valid, o.cancel_valid, wake, at::ask_wheel) {
            i.ask_wheel.cancel_slot = o.cancel_slot;
        }
        if valid(&mut i.ack_take.check_valid, o.check_valid, wake, at::ack_take) {
            i.ack_take.check_qp = o.check_qp;
            i.ack_take.check_first = o.check_first;
            i.ack_take.check_last = o.check_last;
        }
        level(&mut i.tx_scheduler.copy_valid, o.copy_valid, wake, at::tx_scheduler);
        if valid(&mut i.retransmit.copy_live, o.copy_live, wake, at::retransmit) {
            i.retransmit.copy_slot = o.copy_slot;
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
        if valid(&mut i.tx_scheduler.commit_valid, o.commit_valid, wake, at::tx_scheduler) {
            i.tx_scheduler.commit_len = o.hand.len;
        }
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

    pub fn prefetch_pool(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.prefetch_pool, &mut nic.wake);
        level(&mut i.tx_scheduler.prefetch_free, o.free, wake, at::tx_scheduler);
        level(&mut i.tx_scheduler.prefetch_half, o.half_valid, wake, at::tx_scheduler);
    }

    pub fn order_fifo(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.order_fifo, &mut nic.wake);
        if valid(&mut i.payload_fetch.head_valid, o.out_valid, wake, at::payload_fetch) {
            i.payload_fetch.head = o.out_data;
        }
        level(&mut i.payload_fetch.ord_ready, o.in_ready, wake, at::payload_fetch);
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
        level(&mut i.pcie_link.rpush_ready, o.in_ready, wake, at::pcie_link);
    }

    pub fn pcie_writes(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.pcie_writes, &mut nic.wake);
        if valid(&mut i.pcie_link.whead_valid, o.out_valid, wake, at::pcie_link) {
            i.pcie_link.whead = o.out_data;
        }
        level(&mut i.pcie_link.wpush_ready, o.in_ready, wake, at::pcie_link);
    }

    pub fn pcie_cqes(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.pcie_cqes, &mut nic.wake);
        valid(&mut i.pcie_link.chead_valid, o.out_valid, wake, at::pcie_link);
        level(&mut i.pcie_link.chead, o.out_data, wake, at::pcie_link);
        level(&mut i.pcie_link.cpush_ready, o.in_ready, wake, at::pcie_link);
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
        level(&mut i.packet_build.frame_ready, o.in_ready, wake, at::packet_build);
    }

    pub fn ctl_queue(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.ctl_queue, &mut nic.wake);
        let arbiter = &mut i.egress_arbiter;
        if valid_bit(&mut arbiter.cls_valid, 1, o.out_valid, wake, at::egress_arbiter) {
            arbiter.cls1 = o.out_data;
        }
        level(&mut i.ack_build.frame_ready, o.in_ready, wake, at::ack_build);
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
        valid(&mut i.path_probe.end_valid, o.end_valid, wake, at::path_probe);
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
            i.packet_parse.frame_at = o.frame_at;
        }
        if valid(&mut i.ingress_pool.word_valid, o.word_valid, wake, at::ingress_pool) {
            i.ingress_pool.word_data = o.word_data;
        }
    }

    pub fn packet_parse(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.packet_parse, &mut nic.wake);
        if valid(&mut i.ingress_pool.in_valid, o.out_valid, wake, at::ingress_pool) {
            i.ingress_pool.r#in = o.out;
            i.ingress_pool.in_cls = o.out_cls;
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
            i.pause_send.arr_cls = o.arr_cls;
            i.pause_send.arr_occ = o.arr_occ;
        }
        // The pool wakes nobody: it is looked at when an answer comes.
        i.ack_hold.occ = o.held(0);
        level(&mut i.pause_send.rel_cls, o.rel_cls, wake, at::pause_send);
        level(&mut i.pause_send.occ, o.occ, wake, at::pause_send);
    }

    pub fn dat_fifo(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.dat_fifo, &mut nic.wake);
        if valid(&mut i.rx_track.in_valid, o.out_valid, wake, at::rx_track) {
            i.rx_track.r#in = o.out_data;
        }
        level(&mut i.ingress_pool.dat_ready, o.in_ready, wake, at::ingress_pool);
    }

    pub fn ctl_fifo(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.ctl_fifo, &mut nic.wake);
        if valid(&mut i.ack_take.in_valid, o.out_valid, wake, at::ack_take) {
            i.ack_take.r#in = o.out_data;
        }
        level(&mut i.ingress_pool.ctl_ready, o.in_ready, wake, at::ingress_pool);
    }

    pub fn rx_track(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.rx_track, &mut nic.wake);
        if valid(&mut i.ingress_pool.rel2_valid, o.rel2_valid, wake, at::ingress_pool) {
            i.ingress_pool.rel2_bytes = o.rel2_bytes;
        }
        if valid(&mut i.ingress_pool.relt_valid, o.relt_valid, wake, at::ingress_pool) {
            i.ingress_pool.relt_cls = 1;
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
        if valid(&mut i.qp_table.rx_created_valid, o.created_valid, wake, at::qp_table) {
            i.qp_table.rx_created_dest = o.created_dest;
        }
        if valid(&mut i.qp_table.rx_closed_valid, o.closed_valid, wake, at::qp_table) {
            i.qp_table.rx_closed_dest = o.closed_dest;
        }
        level(&mut i.doorbell.close_ready, o.close_ready, wake, at::doorbell);
        level(&mut i.dat_fifo.out_ready, o.in_ready, wake, at::dat_fifo);
        level(&mut i.rx_bitmap.rsp_ready, o.map_rsp_ready, wake, at::rx_bitmap);
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
        level(&mut i.ack_hold.held_ready, o.in_ready, wake, at::ack_hold);
    }

    pub fn nack_fifo(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.nack_fifo, &mut nic.wake);
        if valid(&mut i.ack_hold.nhead_valid, o.out_valid, wake, at::ack_hold) {
            i.ack_hold.nhead = o.out_data;
        }
        level(&mut i.ack_hold.nack_ready, o.in_ready, wake, at::ack_hold);
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
        level(&mut i.ack_hold.out_ready, o.answer_ready, wake, at::ack_hold);
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
        level(&mut i.qp_table.work_valid, o.work_valid, wake, at::qp_table);
        level(&mut i.qp_table.work_qp, o.work_qp, wake, at::qp_table);
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
        level(&mut i.ack_ask.check_ready, o.check_ready, wake, at::ack_ask);
        if valid(&mut i.ack_ask.check_rsp_valid, o.check_rsp_valid, wake, at::ack_ask) {
            i.ack_ask.check_rsp_clear = o.check_rsp_clear;
        }
        if valid(&mut i.qp_drain.spent_valid, o.spent_valid, wake, at::qp_drain) {
            i.qp_drain.spent_qp = o.spent_qp;
        }
        if valid(&mut i.ingress_pool.relc_valid, o.relc_valid, wake, at::ingress_pool) {
            i.ingress_pool.relc_cls = 1;
            i.ingress_pool.relc_bytes = o.relc_bytes;
        }
        level(&mut i.sent_bitmap.rsp_ready, o.map_rsp_ready, wake, at::sent_bitmap);
        level(&mut i.built_fifo.out_ready, o.built_ready, wake, at::built_fifo);
        level(&mut i.qp_drain.purge_ready, o.purge_ready, wake, at::qp_drain);
        level(&mut i.ctl_fifo.out_ready, o.in_ready, wake, at::ctl_fifo);
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
        valid(&mut i.rtt_sample.timed_valid, o.timed_valid, wake, at::rtt_sample);
        valid(&mut i.rtt_sample.probed_valid, o.probed_valid, wake, at::rtt_sample);
        if o.timed_valid || o.probed_valid {
            i.rtt_sample.timed_nack = o.timed_nack;
            i.rtt_sample.timed_sent = o.timed_sent;
            i.rtt_sample.timed_at = o.timed_at;
            i.rtt_sample.timed_group = o.timed_group;
            i.rtt_sample.timed_dest = o.skip_dest;
            i.rtt_sample.timed_arrived = o.timed_arrived;
            i.rtt_sample.timed_rtx = o.timed_rtx;
            i.rtt_sample.timed_stamped = o.timed_stamped;
            i.rtt_sample.timed_word = o.timed_word;
        }
    }

    /// Its outputs go to the log.
    pub fn rtt_sample(_nic: &mut Nic) {}

    pub fn completion(nic: &mut Nic) {
        let (i, o, wake) = (&mut nic.i, &nic.o.completion, &mut nic.wake);
        if valid(&mut i.doorbell.msg_valid, o.msg_valid, wake, at::doorbell) {
            i.doorbell.msg = o.msg;
        }
        if valid(&mut i.qp_table.done_valid, o.done_valid, wake, at::qp_table) {
            i.qp_table.done_qp = o.done_qp;
        }
        if valid(&mut i.ack_ask.left_valid, o.left_valid, wake, at::ack_ask) {
            i.ack_ask.left_msg = o.left_msg;
        }
        level(&mut i.ack_ask.sent_ready, o.sent_ready, wake, at::ack_ask);
        if valid(&mut i.replay_store.final_valid, o.final_valid, wake, at::replay_store) {
            i.replay_store.final_slot = o.final_slot;
        }
        if valid(&mut i.tlp_engine.cqe_valid, o.cqe_valid, wake, at::tlp_engine) {
            i.tlp_engine.cqe_addr = o.cqe_addr;
            i.tlp_engine.cqe_data = o.cqe_data;
        }
        level(&mut i.tx_scheduler.sent_ready, o.sent_ready, wake, at::tx_scheduler);
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

fn woken(wake: u64, block: u32) -> bool {
    wake >> block & 1 == 1
}

/// A block that is awake finds what passes through it, and gives it to others.
macro_rules! pass {
    ($s:ident $($giver:ident $(: $($out:ident => $to:ident.$in:ident),*)?;)*) => {
        $(if woken($s.wake, at::$giver) {
            $s.b.$giver.ready(&$s.i.$giver, &mut $s.o.$giver);
            $($(level(&mut $s.i.$to.$in, $s.o.$giver.$out, &mut $s.wake, at::$to);)*)?
        })*
    };
}

/// Every memory with both ports at one block: read enable, address and data, then those of writes.
macro_rules! memory_ports {
    ($with:ident $s:ident) => {
        $with! { $s
            rx_fifo {
                rx_fifo_ram: ram_re ram_raddr ram_rdata, ram_we ram_waddr ram_wdata;
            }
            qp_table {
                qp_table_ctx: ctx_re ctx_raddr ctx_rdata, ctx_we ctx_waddr ctx_wdata;
            }
            window {
                window_win: win_re win_raddr win_rdata, win_we win_waddr win_wdata;
            }
            path_select {
                path_select_flag: flag_re flag_raddr flag_rdata, flag_we flag_waddr flag_wdata;
                path_select_next: next_re next_raddr next_rdata, next_we next_waddr next_wdata;
                path_select_prev: prev_re prev_raddr prev_rdata, prev_we prev_waddr prev_wdata;
            }
            path_probe {
                path_probe_due: due_re due_raddr due_rdata, due_we due_waddr due_wdata;
                path_probe_at: at_re at_raddr at_rdata, at_we at_waddr at_wdata;
            }
            tx_scheduler {
                tx_scheduler_qctx: qctx_re qctx_raddr qctx_rdata, qctx_we qctx_waddr qctx_wdata;
                tx_scheduler_smsg: smsg_re smsg_raddr smsg_rdata, smsg_we smsg_waddr smsg_wdata;
                tx_scheduler_work: work_re work_raddr work_rdata, work_we work_waddr work_wdata;
            }
            replay_store {
                replay_store_map: map_re map_raddr map_rdata, map_we map_waddr map_wdata;
                replay_store_rec: rec_re rec_raddr rec_rdata, rec_we rec_waddr rec_wdata;
                replay_store_fl: fl_re fl_raddr fl_rdata, fl_we fl_waddr fl_wdata;
                replay_store_path: path_re path_raddr path_rdata, path_we path_waddr path_wdata;
            }
            payload_fetch {
                payload_fetch_tagr: tagr_re tagr_raddr tagr_rdata, tagr_we tagr_waddr tagr_wdata;
            }
            order_fifo {
                order_fifo_ram: ram_re ram_raddr ram_rdata, ram_we ram_waddr ram_wdata;
            }
            pcie_link {
                pcie_link_buf: buf_re buf_raddr buf_rdata, buf_we buf_waddr buf_wdata;
            }
            pcie_reads {
                pcie_reads_ram: ram_re ram_raddr ram_rdata, ram_we ram_waddr ram_wdata;
            }
            pcie_writes {
                pcie_writes_ram: ram_re ram_raddr ram_rdata, ram_we ram_waddr ram_wdata;
            }
            pcie_cqes {
                pcie_cqes_ram: ram_re ram_raddr ram_rdata, ram_we ram_waddr ram_wdata;
            }
            dat_queue {
                dat_queue_ram: ram_re ram_raddr ram_rdata, ram_we ram_waddr ram_wdata;
            }
            ctl_queue {
                ctl_queue_ram: ram_re ram_raddr ram_rdata, ram_we ram_waddr ram_wdata;
            }
            dat_fifo {
                dat_fifo_ram: ram_re ram_raddr ram_rdata, ram_we ram_waddr ram_wdata;
            }
            ctl_fifo {
                ctl_fifo_ram: ram_re ram_raddr ram_rdata, ram_we ram_waddr ram_wdata;
            }
            rx_track {
                rx_track_peer: peer_re peer_raddr peer_rdata, peer_we peer_waddr peer_wdata;
                rx_track_rctx: rctx_re rctx_raddr rctx_rdata, rctx_we rctx_waddr rctx_wdata;
                rx_track_ends: ends_re ends_raddr ends_rdata, ends_we ends_waddr ends_wdata;
            }
            rx_bitmap {
                rx_bitmap_bits: bits_re bits_raddr bits_rdata, bits_we bits_waddr bits_wdata;
                rx_bitmap_mark: mark_re mark_raddr mark_rdata, mark_we mark_waddr mark_wdata;
                rx_bitmap_any: any_re any_raddr any_rdata, any_we any_waddr any_wdata;
            }
            deliver_fifo {
                deliver_fifo_ram: ram_re ram_raddr ram_rdata, ram_we ram_waddr ram_wdata;
            }
            answer_fifo {
                answer_fifo_ram: ram_re ram_raddr ram_rdata, ram_we ram_waddr ram_wdata;
            }
            nack_fifo {
                nack_fifo_ram: ram_re ram_raddr ram_rdata, ram_we ram_waddr ram_wdata;
            }
            completion {
                completion_cmsg: cmsg_re cmsg_raddr cmsg_rdata, cmsg_we cmsg_waddr cmsg_wdata;
                completion_cqp: cqp_re cqp_raddr cqp_rdata, cqp_we cqp_waddr cqp_wdata;
                completion_fl: fl_re fl_raddr fl_rdata, fl_we fl_waddr fl_wdata;
            }
            built_fifo {
                built_fifo_ram: ram_re ram_raddr ram_rdata, ram_we ram_waddr ram_wdata;
            }
            sent_bitmap {
                sent_bitmap_bits: bits_re bits_raddr bits_rdata, bits_we bits_waddr bits_wdata;
                sent_bitmap_any: any_re any_raddr any_rdata, any_we any_waddr any_wdata;
            }
            retransmit {
                retransmit_tims: tims_re tims_raddr tims_rdata, tim_we tim_waddr tim_wdata;
                retransmit_tim: tim_re tim_raddr tim_rdata, tim_we tim_waddr tim_wdata;
                retransmit_at: at_re at_raddr at_rdata, at_we at_waddr at_wdata;
            }
            ask_wheel {
                ask_wheel_rec: rec_re rec_raddr rec_rdata, rec_we rec_waddr rec_wdata;
                ask_wheel_spoke: spoke_re spoke_raddr spoke_rdata, spoke_we spoke_waddr spoke_wdata;
            }
            ack_ask {
                ack_ask_node: node_re node_raddr node_rdata, node_we node_waddr node_wdata;
            }
            timer_wheel {
                timer_wheel_rec: rec_re rec_raddr rec_rdata, rec_we rec_waddr rec_wdata;
                timer_wheel_spoke: spoke_re spoke_raddr spoke_rdata, spoke_we spoke_waddr spoke_wdata;
            }
            waits {
                waits_bits: bits_re bits_raddr bits_rdata, bits_we bits_waddr bits_wdata;
                waits_any: any_re any_raddr any_rdata, any_we any_waddr any_wdata;
            }
        }
    };
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
        i.tx_scheduler.cfg_prefetch_on = o.cfg_prefetch_on;
        i.payload_fetch.cfg_prefetch_on = o.cfg_prefetch_on;
        i.qp_drain.cfg_prefetch_on = o.cfg_prefetch_on;
        i.prefetch_pool.cfg_prefetch = o.cfg_prefetch;
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
        i.packet_parse.cfg_stamps = o.cfg_stamps;
        i.rtt_sample.cfg_stamps = o.cfg_stamps;
        i.packet_parse.cfg_charge_less = o.cfg_charge_less;
        i.packet_parse.cfg_ack_extra = o.cfg_ack_extra;
        i.ingress_pool.cfg_ingress_pool = o.cfg_ingress_pool;
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
        i.packet_build.cfg_stamps = o.cfg_stamps;
        i.ack_ask.cfg_timeout = o.cfg_timeout;
        i.retransmit.cfg_linear = o.cfg_linear;
        i.retransmit.cfg_expo = o.cfg_expo;
        i.retransmit.cfg_fixed = o.cfg_fixed;
        i.retransmit.cfg_nominal_overhead = o.cfg_nominal_overhead;
        i.qp_drain.cfg_wire_overhead = o.cfg_wire_overhead;
        i.qp_drain.cfg_nominal_overhead = o.cfg_nominal_overhead;
        i.completion.cfg_cq_base = o.cfg_cq_base;
        i.completion.cfg_cq_log2 = o.cfg_cq_log2;
    }

    /// Second phase of every block that is awake, from sink to source, and the readys from it.
    pub(super) fn connect_readys(&mut self) {
        pass! { self
            sent_bitmap: req_ready => ack_take.map_ready;
            rx_bitmap: req_ready => rx_track.map_ready;
            ack_hold:
                in_ready => rx_track.answer_ready, nhead_ready => nack_fifo.out_ready,
                head_ready => answer_fifo.out_ready;
            replay_store:
                build_ready => packet_build.rec_ready, final_ready => completion.final_ready,
                look_ready => retransmit.look_ready, toss_ready => qp_drain.toss_ready;
            tlp_parse: rx_ready => rx_fifo.out_ready, rx_ready => pcie_room.out_ready;
            rx_fifo;
            path_probe: room_bytes => tx_scheduler.room_bytes;
            path_select:
                data_ready => packet_build.data_ready, ack_ready => ack_build.ack_ready,
                look_ready => path_probe.look_ready;
            window:
                query_ready => packet_build.query_ready, try_ready => tx_scheduler.try_ready,
                open_ready => qp_table.open_ready, lose_ready => retransmit.loss_ready,
                toss_ready => qp_drain.flight_ready, sub_ready => ack_take.sub_ready;
            packet_build:
                hand_ready => payload_fetch.hand_ready, again_ready => retransmit.again_ready,
                hand_ready => qp_drain.hand_ready, probe_ready => path_probe.probe_ready;
            pcie_link:
                tx_ready => tlp_engine.tx_ready, tx_free => tlp_engine.tx_free,
                rhead_ready => pcie_reads.out_ready, whead_ready => pcie_writes.out_ready,
                chead_ready => pcie_cqes.out_ready;
            tlp_engine:
                rd_ready => payload_fetch.rd_ready, cqe_ready => completion.cqe_ready,
                wr_ready => payload_write.wr_ready;
            payload_fetch:
                seg_ready => tx_scheduler.seg_ready, head_ready => order_fifo.out_ready,
                seg_ready => qp_drain.seg_ready;
            tx_scheduler:
                post_ready => doorbell.post_sched_ready, wait_ready => retransmit.wait_ready,
                drop_ready => qp_drain.drop_ready, slot_ready => replay_store.slot_ready,
                ack_ready => ack_take.ack_ready, room_ready => path_probe.room_ready,
                commit_ready => payload_fetch.commit_ready;
            completion:
                post_done_ready => doorbell.post_done_ready, err_ready => doorbell.err_ready,
                comp_ready => payload_write.comp_ready, cover_ready => ack_take.cover_ready;
            doorbell: msg_ready => completion.msg_ready;
            qp_table;
            order_fifo;
            pcie_reads;
            pcie_writes;
            pcie_cqes;
        }
        if woken(self.wake, at::egress_arbiter) {
            let (i, o) = (&mut self.i, &mut self.o.egress_arbiter);
            self.b.egress_arbiter.ready(&i.egress_arbiter, o);
            let wake = &mut self.wake;
            level(&mut i.pause_send.frame_ready, o.pfc_ready, wake, at::pause_send);
            level(&mut i.dat_queue.out_ready, o.cls_ready & 1 != 0, wake, at::dat_queue);
            level(&mut i.ctl_queue.out_ready, o.cls_ready & 2 != 0, wake, at::ctl_queue);
        }
        pass! { self
            dat_queue;
            ctl_queue;
            dat_fifo;
            ctl_fifo;
            payload_write: in_ready => deliver_fifo.out_ready;
            deliver_fifo;
            answer_fifo;
            nack_fifo;
            built_fifo;
            retransmit:
                exp_ready => timer_wheel.exp_ready, ask_ready => tx_scheduler.ask_ready,
                retire_ready => ack_take.retire_ready, lose_ready => ack_take.lose_ready;
            timer_wheel;
            ack_ask: exp_ready => ask_wheel.exp_ready, arm_span => ask_wheel.arm_span;
            ask_wheel;
            waits: req_ready => retransmit.map_ready;
        }
    }

    /// The edge of every memory; what was read is an input from the next clock on.
    pub(super) fn clock_memories(&mut self) {
        self.clock_replay();
        self.clock_ingress();
        macro_rules! clock {
            ($s:ident $($block:ident { $($ram:ident: $re:ident $ra:ident $rd:ident, $we:ident $wa:ident $wd:ident;)* })*) => {
                $(if woken($s.wake, at::$block) {
                    let (i, o) = (&mut $s.i.$block, &$s.o.$block);
                    $(if o.$re {
                        $s.m.$ram.read(o.$ra);
                        i.$rd = $s.m.$ram.rdata;
                        $s.read |= 1 << ram::$ram;
                    }
                    if o.$we {
                        $s.m.$ram.write(o.$wa, &o.$wd);
                    })*
                    if false $(|| o.$re || o.$we)* {
                        $s.stir |= 1 << at::$block;
                        $s.wrote |= false $(|| o.$we)*;
                    }
                })*
            };
        }
        memory_ports!(clock self);
    }

    /// The replay banks: `payload_fetch` writes, `port_tx` reads.
    fn clock_replay(&mut self) {
        let (i, o, m) = (&mut self.i.port_tx, &self.o, &mut self.m);
        if woken(self.wake, at::port_tx) && o.port_tx.bank_re != 0 {
            self.stir |= 1 << at::port_tx;
            if o.port_tx.bank_re & 1 == 1 {
                m.replay0.read(o.port_tx.bank_raddr0);
                i.bank_rdata0 = m.replay0.rdata;
                self.read |= 1 << ram::replay0;
            }
            if o.port_tx.bank_re >> 1 & 1 == 1 {
                m.replay1.read(o.port_tx.bank_raddr1);
                i.bank_rdata1 = m.replay1.rdata;
                self.read |= 1 << ram::replay1;
            }
        }
        let o = &o.payload_fetch;
        if woken(self.wake, at::payload_fetch) && o.bank_we != 0 {
            self.stir |= 1 << at::payload_fetch;
            self.wrote = true;
            if o.bank_we & 1 == 1 {
                m.replay0.write(o.bank_waddr, o.bank_wdata);
            }
            if o.bank_we >> 1 & 1 == 1 {
                m.replay1.write(o.bank_waddr, o.bank_wdata);
            }
        }
    }

    /// The ring of what has arrived: `ingress_pool` writes, `payload_write` reads.
    fn clock_ingress(&mut self) {
        let (o, ring) = (&self.o, &mut self.m.ingress_ring);
        if woken(self.wake, at::payload_write) && o.payload_write.ring_re {
            self.stir |= 1 << at::payload_write;
            ring.read(o.payload_write.ring_raddr);
            self.i.payload_write.ring_rdata = ring.rdata;
            self.read |= 1 << ram::ingress_ring;
        }
        if woken(self.wake, at::ingress_pool) && o.ingress_pool.ring_we {
            self.stir |= 1 << at::ingress_pool;
            self.wrote = true;
            ring.write(o.ingress_pool.ring_waddr, o.ingress_pool.ring_wdata);
        }
    }

    /// What memories have read, all of it.
    pub(super) fn connect_memories(&mut self) {
        macro_rules! connect {
            ($s:ident $($block:ident { $($ram:ident: $re:ident $ra:ident $rd:ident, $we:ident $wa:ident $wd:ident;)* })*) => {
                $($($s.i.$block.$rd = $s.m.$ram.rdata;)*)*
            };
        }
        memory_ports!(connect self);
        self.i.port_tx.bank_rdata0 = self.m.replay0.rdata;
        self.i.port_tx.bank_rdata1 = self.m.replay1.rdata;
        self.i.payload_write.ring_rdata = self.m.ingress_ring.rdata;
    }

    /// The NIC's own ports.
    pub(super) fn connect_ports(&mut self, ports: &Inputs) {
        let (i, wake) = (&mut self.i, &mut self.wake);
        valid(&mut i.timer_wheel.tick, ports.tick, wake, at::timer_wheel);
        valid(&mut i.ask_wheel.tick, ports.tick, wake, at::ask_wheel);
        // The count wakes nobody: it is looked at when a packet is made or sent, or a beat comes.
        i.packet_build.now = ports.now;
        i.retransmit.now = ports.now;
        i.port_rx.now = ports.now;
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
