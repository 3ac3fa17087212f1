//! The wires between the blocks of the NIC: the twin of the port connections in `hdl/nic.sv`.
//!
//! Data moves with its valid: an input that no valid vouches for keeps what it had, and no block
//! looks at it. Where a ready is made of data it is looked at without its valid, and so it moves
//! in every clock.

// One line a wire: a function is as long as its part of the NIC has wires.
#![allow(clippy::too_many_lines)]

use super::{Inputs, Nic};
use crate::block::Block;
use crate::types::PageWrite;

impl Nic {
    /// From the host: TLPs, page writes, doorbells, messages.
    pub(super) fn connect_host(&mut self) {
        let (i, o) = (&mut self.i, &self.o);
        i.csr.wr_valid = o.doorbell.csr_valid;
        if i.csr.wr_valid {
            i.csr.wr_index = o.doorbell.csr_index;
            i.csr.wr_data = o.doorbell.csr_data;
        }
        i.tlp_parse.rx_valid = o.rx_fifo.out_valid;
        i.tlp_parse.rx_sop = o.rx_fifo.out_data.sop;
        i.tlp_parse.rx_eop = o.rx_fifo.out_data.eop;
        i.tlp_parse.rx_hdr = o.rx_fifo.out_data.hdr;
        i.tlp_parse.rx_dws = o.rx_fifo.out_data.dws;
        if i.tlp_parse.rx_valid {
            i.tlp_parse.rx_data = o.rx_fifo.out_data.data;
        }
        i.page_fifo.in_valid = o.tlp_parse.page_valid;
        if i.page_fifo.in_valid {
            i.page_fifo.in_data = PageWrite {
                addr: o.tlp_parse.page_addr,
                len: o.tlp_parse.page_len,
                full: o.tlp_parse.page_full,
                data: o.tlp_parse.page_data,
            };
        }
        i.doorbell.page_valid = o.page_fifo.out_valid;
        if i.doorbell.page_valid {
            i.doorbell.page_addr = o.page_fifo.out_data.addr;
            i.doorbell.page_len = o.page_fifo.out_data.len;
            i.doorbell.page_full = o.page_fifo.out_data.full;
            i.doorbell.page_data = o.page_fifo.out_data.data;
        }
        i.doorbell.qp_rsp_valid = o.qp_table.qp_rsp_valid;
        if i.doorbell.qp_rsp_valid {
            i.doorbell.qp_rsp_ok = o.qp_table.qp_rsp_ok;
            i.doorbell.qp_rsp_full = o.qp_table.qp_rsp_full;
            i.doorbell.qp_rsp_qpn = o.qp_table.qp_rsp_qpn;
            i.doorbell.qp_rsp_group = o.qp_table.qp_rsp_group;
            i.doorbell.qp_rsp_dest = o.qp_table.qp_rsp_dest;
            i.doorbell.qp_rsp_msn = o.qp_table.qp_rsp_msn;
        }
        i.doorbell.msg_valid = o.completion.msg_valid;
        if i.doorbell.msg_valid {
            i.doorbell.msg = o.completion.msg;
        }
        i.qp_table.find_valid = o.ack_take.find_valid;
        if i.qp_table.find_valid {
            i.qp_table.find_qpn = o.ack_take.find_qpn;
            i.qp_table.find_dest_ip = o.ack_take.find_dest_ip;
        }
        i.qp_table.upd_valid = o.ack_take.upd_valid;
        if i.qp_table.upd_valid {
            i.qp_table.upd_qp = o.ack_take.upd_qp;
            i.qp_table.upd_cum = o.ack_take.upd_cum;
            i.qp_table.upd_learn = o.ack_take.upd_learn;
            i.qp_table.upd_remote = o.ack_take.upd_remote;
        }
        i.qp_table.build_valid = o.packet_build.build_valid;
        if i.qp_table.build_valid {
            i.qp_table.build_qp = o.packet_build.build_qp;
            i.qp_table.build_psn = o.packet_build.build_psn;
        }
        i.qp_table.qp_valid = o.doorbell.qp_valid;
        if i.qp_table.qp_valid {
            i.qp_table.qp_op = o.doorbell.qp_op;
            i.qp_table.qp_qpn = o.doorbell.qp_qpn;
            i.qp_table.qp_dest = o.doorbell.qp_dest;
        }
        i.qp_table.done_valid = o.completion.done_valid;
        if i.qp_table.done_valid {
            i.qp_table.done_qp = o.completion.done_qp;
        }
        i.window.open_valid = o.qp_table.open_valid;
        if i.window.open_valid {
            i.window.open_group = o.qp_table.open_group;
        }
        i.window.sub_valid = o.ack_take.sub_valid;
        if i.window.sub_valid {
            i.window.sub_group = o.ack_take.sub_group;
            i.window.sub_bytes = o.ack_take.sub_bytes;
        }
        i.window.query_valid = o.packet_build.query_valid;
        if i.window.query_valid {
            i.window.query_group = o.packet_build.query_group;
        }
        i.window.try_valid = o.tx_scheduler.try_valid;
        if i.window.try_valid {
            i.window.try_group = o.tx_scheduler.try_group;
            i.window.try_bytes = o.tx_scheduler.try_bytes;
            i.window.try_commit = o.tx_scheduler.try_commit;
        }
        i.path_select.data_valid = o.packet_build.data_valid;
        if i.path_select.data_valid {
            i.path_select.data_dest = o.packet_build.data_dest;
        }
        i.path_select.ack_valid = o.ack_build.ack_valid;
        if i.path_select.ack_valid {
            i.path_select.ack_dest = o.ack_build.ack_dest;
        }
        i.completion.post_done_valid = o.doorbell.post_done_valid;
        if i.completion.post_done_valid {
            i.completion.post_done_qp = o.doorbell.post_qp;
            i.completion.post_done_qpn = o.doorbell.post_qpn;
            i.completion.post_done_dest = o.doorbell.post_dest;
            i.completion.post_done_open = o.doorbell.post_open;
            i.completion.post_done_msg = o.doorbell.post_msg;
            i.completion.post_done_len = o.doorbell.post_len;
            i.completion.post_done_msn = o.doorbell.post_msn;
            i.completion.post_done_cookie = o.doorbell.post_cookie;
        }
        i.completion.sent_valid = o.tx_scheduler.sent_valid;
        if i.completion.sent_valid {
            i.completion.sent_qp = o.tx_scheduler.sent_qp;
            i.completion.sent_msg = o.tx_scheduler.sent_msg;
            i.completion.sent_psn = o.tx_scheduler.sent_psn;
        }
        i.completion.cover_valid = o.ack_take.cover_valid;
        if i.completion.cover_valid {
            i.completion.cover_qp = o.ack_take.cover_qp;
            i.completion.cover_cum = o.ack_take.cover_cum;
        }
        i.completion.comp_valid = o.payload_write.comp_valid;
        if i.completion.comp_valid {
            i.completion.comp_qpn = o.payload_write.comp_qpn;
            i.completion.comp_msn = o.payload_write.comp_msn;
            i.completion.comp_len = o.payload_write.comp_len;
            i.completion.comp_dest = o.payload_write.comp_dest;
        }
        i.completion.err_valid = o.doorbell.err_valid;
        if i.completion.err_valid {
            i.completion.err_code = o.doorbell.err_code;
            i.completion.err_cookie = o.doorbell.err_cookie;
            i.completion.err_qpn = o.doorbell.err_qpn;
            i.completion.err_len = o.doorbell.err_len;
        }
    }

    /// From messages to the wire: turns, fetches, packets.
    pub(super) fn connect_out(&mut self) {
        let (i, o) = (&mut self.i, &self.o);
        i.tx_scheduler.post_valid = o.doorbell.post_sched_valid;
        if i.tx_scheduler.post_valid {
            i.tx_scheduler.post_qp = o.doorbell.post_qp;
            i.tx_scheduler.post_dest = o.doorbell.post_dest;
            i.tx_scheduler.post_group = o.doorbell.post_group;
            i.tx_scheduler.post_open = o.doorbell.post_open;
            i.tx_scheduler.post_msg = o.doorbell.post_msg;
            i.tx_scheduler.post_laddr = o.doorbell.post_laddr;
            i.tx_scheduler.post_raddr = o.doorbell.post_raddr;
            i.tx_scheduler.post_rkey = o.doorbell.post_rkey;
            i.tx_scheduler.post_len = o.doorbell.post_len;
            i.tx_scheduler.post_msn = o.doorbell.post_msn;
        }
        i.tx_scheduler.ack_valid = o.ack_take.ack_valid;
        if i.tx_scheduler.ack_valid {
            i.tx_scheduler.ack_qp = o.ack_take.ack_qp;
            i.tx_scheduler.ack_group = o.ack_take.ack_group;
            i.tx_scheduler.ack_cum = o.ack_take.ack_cum;
        }
        i.tx_scheduler.try_rsp_valid = o.window.try_rsp_valid;
        if i.tx_scheduler.try_rsp_valid {
            i.tx_scheduler.try_rsp_ok = o.window.try_rsp_ok;
        }
        i.tx_scheduler.half_valid = o.egress_arbiter.half_valid;
        i.tx_scheduler.slot_valid = o.replay_store.slot_valid;
        if i.tx_scheduler.slot_valid {
            i.tx_scheduler.slot = o.replay_store.slot;
        }
        i.tx_scheduler.ring = o.doorbell.ring;
        i.tx_scheduler.egress_free = o.egress_arbiter.egress_free;
        i.tx_scheduler.tags_free = o.payload_fetch.tags_free;
        i.replay_store.build_valid = o.packet_build.rec_valid;
        if i.replay_store.build_valid {
            i.replay_store.build_qp = o.packet_build.rec_qp;
            i.replay_store.build_psn = o.packet_build.rec_psn;
            i.replay_store.build_slot = o.packet_build.rec_slot;
            i.replay_store.build_len = o.packet_build.rec_len;
            i.replay_store.build_last = o.packet_build.rec_last;
            i.replay_store.build_group = o.packet_build.rec_group;
            i.replay_store.build_msg = o.packet_build.rec_msg;
        }
        i.replay_store.retire_valid = o.ack_take.retire_valid;
        if i.replay_store.retire_valid {
            i.replay_store.retire_qp = o.ack_take.retire_qp;
            i.replay_store.retire_psn = o.ack_take.retire_psn;
        }
        i.replay_store.final_valid = o.completion.final_valid;
        if i.replay_store.final_valid {
            i.replay_store.final_qp = o.completion.final_qp;
            i.replay_store.final_psn = o.completion.final_psn;
        }
        i.replay_store.gone_valid = o.port_tx.gone_valid;
        if i.replay_store.gone_valid {
            i.replay_store.gone_data = o.port_tx.gone_data;
            i.replay_store.gone_slot = o.port_tx.gone_slot;
        }
        i.payload_fetch.seg_valid = o.tx_scheduler.seg_valid;
        i.payload_fetch.seg = o.tx_scheduler.seg;
        i.payload_fetch.cpl_valid = o.tlp_parse.cpl_valid;
        if i.payload_fetch.cpl_valid {
            i.payload_fetch.cpl_tag = o.tlp_parse.cpl_tag;
            i.payload_fetch.cpl_first = o.tlp_parse.cpl_first;
            i.payload_fetch.cpl_last = o.tlp_parse.cpl_last;
            i.payload_fetch.cpl_data = o.tlp_parse.cpl_data;
            i.payload_fetch.cpl_bytes = o.tlp_parse.cpl_bytes;
            i.payload_fetch.cpl_status = o.tlp_parse.cpl_status;
            i.payload_fetch.cpl_poison = o.tlp_parse.cpl_poison;
            i.payload_fetch.cpl_count = o.tlp_parse.cpl_count;
            i.payload_fetch.cpl_lower = o.tlp_parse.cpl_lower;
        }
        i.payload_fetch.head_valid = o.order_fifo.out_valid;
        if i.payload_fetch.head_valid {
            i.payload_fetch.head = o.order_fifo.out_data;
        }
        i.order_fifo.in_valid = o.payload_fetch.ord_valid;
        if i.order_fifo.in_valid {
            i.order_fifo.in_data = o.payload_fetch.ord;
        }
        i.tlp_engine.rd_valid = o.payload_fetch.rd_valid;
        if i.tlp_engine.rd_valid {
            i.tlp_engine.rd_addr = o.payload_fetch.rd_addr;
            i.tlp_engine.rd_len = o.payload_fetch.rd_len;
            i.tlp_engine.rd_tag = o.payload_fetch.rd_tag;
        }
        i.tlp_engine.wr_valid = o.payload_write.wr_valid;
        if i.tlp_engine.wr_valid {
            i.tlp_engine.wr_first = o.payload_write.wr_first;
            i.tlp_engine.wr_last = o.payload_write.wr_last;
            i.tlp_engine.wr_addr = o.payload_write.wr_addr;
            i.tlp_engine.wr_len = o.payload_write.wr_len;
            i.tlp_engine.wr_data = o.payload_write.wr_data;
        }
        i.tlp_engine.cqe_valid = o.completion.cqe_valid;
        if i.tlp_engine.cqe_valid {
            i.tlp_engine.cqe_addr = o.completion.cqe_addr;
            i.tlp_engine.cqe_data = o.completion.cqe_data;
        }
        i.pcie_link.tx_valid = o.tlp_engine.tx_valid;
        i.pcie_link.tx_first = o.tlp_engine.tx_first;
        i.pcie_link.tx_kind = o.tlp_engine.tx_kind;
        i.pcie_link.tx_dws = o.tlp_engine.tx_dws;
        i.pcie_link.tx_len = o.tlp_engine.tx_len;
        if i.pcie_link.tx_valid {
            i.pcie_link.tx_last = o.tlp_engine.tx_last;
            i.pcie_link.tx_hdr = o.tlp_engine.tx_hdr;
            i.pcie_link.tx_cost = o.tlp_engine.tx_cost;
            i.pcie_link.tx_data = o.tlp_engine.tx_data;
        }
        i.pcie_link.rhead_valid = o.pcie_reads.out_valid;
        if i.pcie_link.rhead_valid {
            i.pcie_link.rhead = o.pcie_reads.out_data;
        }
        i.pcie_link.whead_valid = o.pcie_writes.out_valid;
        if i.pcie_link.whead_valid {
            i.pcie_link.whead = o.pcie_writes.out_data;
        }
        i.pcie_link.chead_valid = o.pcie_cqes.out_valid;
        i.pcie_link.chead = o.pcie_cqes.out_data;
        i.pcie_reads.in_valid = o.pcie_link.rpush_valid;
        if i.pcie_reads.in_valid {
            i.pcie_reads.in_data = o.pcie_link.rpush;
        }
        i.pcie_writes.in_valid = o.pcie_link.wpush_valid;
        if i.pcie_writes.in_valid {
            i.pcie_writes.in_data = o.pcie_link.wpush;
        }
        i.pcie_cqes.in_valid = o.pcie_link.cpush_valid;
        if i.pcie_cqes.in_valid {
            i.pcie_cqes.in_data = o.pcie_link.cpush;
        }
        i.packet_build.hand_valid = o.payload_fetch.hand_valid;
        if i.packet_build.hand_valid {
            i.packet_build.hand = o.payload_fetch.hand;
        }
        i.packet_build.query_rsp_valid = o.window.query_rsp_valid;
        if i.packet_build.query_rsp_valid {
            i.packet_build.query_rsp_tight = o.window.query_rsp_tight;
        }
        i.packet_build.data_rsp_valid = o.path_select.data_rsp_valid;
        if i.packet_build.data_rsp_valid {
            i.packet_build.data_rsp_port = o.path_select.data_rsp_port;
        }
        i.packet_build.build_rsp_valid = o.qp_table.build_rsp_valid;
        if i.packet_build.build_rsp_valid {
            i.packet_build.build_rsp_qpn = o.qp_table.build_rsp_qpn;
<<<<<<< HEAD
=======
            // The block keeps both, whether the number is known or not.
>>>>>>> accept
            i.packet_build.build_rsp_remote_valid = o.qp_table.build_rsp_remote_valid;
            i.packet_build.build_rsp_remote = o.qp_table.build_rsp_remote;
        }
        i.dat_queue.in_valid = o.packet_build.frame_valid;
        if i.dat_queue.in_valid {
            i.dat_queue.in_data = o.packet_build.frame;
        }
        i.ctl_queue.in_valid = o.ack_build.frame_valid;
        if i.ctl_queue.in_valid {
            i.ctl_queue.in_data = o.ack_build.frame;
        }
        i.egress_arbiter.dat_valid = o.dat_queue.out_valid;
        if i.egress_arbiter.dat_valid {
            i.egress_arbiter.dat = o.dat_queue.out_data;
        }
        i.egress_arbiter.ctl_valid = o.ctl_queue.out_valid;
        if i.egress_arbiter.ctl_valid {
            i.egress_arbiter.ctl = o.ctl_queue.out_data;
        }
        i.egress_arbiter.resv_valid = o.tx_scheduler.resv_valid;
        if i.egress_arbiter.resv_valid {
            i.egress_arbiter.resv_bytes = o.tx_scheduler.resv_bytes;
        }
        i.egress_arbiter.cresv_valid = o.ack_build.cresv_valid;
        if i.egress_arbiter.cresv_valid {
            i.egress_arbiter.cresv_bytes = o.ack_build.cresv_bytes;
        }
        i.port_tx.tx_valid = o.egress_arbiter.tx_valid;
        if i.port_tx.tx_valid {
            i.port_tx.tx = o.egress_arbiter.tx;
        }
        i.port_tx.end_valid = o.egress_arbiter.end_valid;
        if i.port_tx.end_valid {
            i.port_tx.end_back = o.egress_arbiter.end_back;
        }
    }

    /// From the wire: frames, payloads, answers.
    pub(super) fn connect_in(&mut self) {
        let (i, o) = (&mut self.i, &self.o);
        i.packet_parse.frame_valid = o.port_rx.frame_valid;
        if i.packet_parse.frame_valid {
            i.packet_parse.frame_hdr = o.port_rx.frame_hdr;
            i.packet_parse.frame_len = o.port_rx.frame_len;
            i.packet_parse.frame_fcs_ok = o.port_rx.frame_fcs_ok;
            i.packet_parse.frame_words = o.port_rx.frame_words;
        }
        i.ingress_pool.word_valid = o.port_rx.word_valid;
        if i.ingress_pool.word_valid {
            i.ingress_pool.word_data = o.port_rx.word_data;
        }
        i.ingress_pool.in_valid = o.packet_parse.out_valid;
        if i.ingress_pool.in_valid {
            i.ingress_pool.r#in = o.packet_parse.out;
            i.ingress_pool.in_drop = o.packet_parse.out_drop;
            i.ingress_pool.in_words = o.packet_parse.out_words;
        }
        i.ingress_pool.rel_valid = o.payload_write.rel_valid;
        if i.ingress_pool.rel_valid {
            i.ingress_pool.rel_bytes = o.payload_write.rel_bytes;
        }
        i.ingress_pool.rel2_valid = o.rx_track.rel2_valid;
        if i.ingress_pool.rel2_valid {
            i.ingress_pool.rel2_bytes = o.rx_track.rel2_bytes;
        }
        i.ingress_pool.relt_valid = o.rx_track.relt_valid;
        if i.ingress_pool.relt_valid {
            i.ingress_pool.relt_bytes = o.rx_track.relt_bytes;
        }
        i.ingress_pool.relc_valid = o.ack_take.relc_valid;
        if i.ingress_pool.relc_valid {
            i.ingress_pool.relc_bytes = o.ack_take.relc_bytes;
        }
        i.ingress_pool.free_valid = o.payload_write.free_valid;
        if i.ingress_pool.free_valid {
            i.ingress_pool.free_words = o.payload_write.free_words;
        }
        i.dat_fifo.in_valid = o.ingress_pool.dat_valid;
        if i.dat_fifo.in_valid {
            i.dat_fifo.in_data = o.ingress_pool.dat;
        }
        i.ctl_fifo.in_valid = o.ingress_pool.ctl_valid;
        if i.ctl_fifo.in_valid {
            i.ctl_fifo.in_data = o.ingress_pool.ctl;
        }
        i.rx_track.in_valid = o.dat_fifo.out_valid;
        if i.rx_track.in_valid {
            i.rx_track.r#in = o.dat_fifo.out_data;
        }
        i.rx_track.close_valid = o.doorbell.close_valid;
        if i.rx_track.close_valid {
            i.rx_track.close_qpn = o.doorbell.close_qpn;
        }
        i.deliver_fifo.in_valid = o.rx_track.deliver_valid;
        if i.deliver_fifo.in_valid {
            i.deliver_fifo.in_data = o.rx_track.deliver;
        }
        i.payload_write.in_valid = o.deliver_fifo.out_valid;
        if i.payload_write.in_valid {
            i.payload_write.r#in = o.deliver_fifo.out_data;
        }
        i.answer_fifo.in_valid = o.rx_track.answer_valid;
        if i.answer_fifo.in_valid {
            i.answer_fifo.in_data = o.rx_track.answer;
        }
        i.ack_build.answer_valid = o.answer_fifo.out_valid;
        if i.ack_build.answer_valid {
            i.ack_build.answer = o.answer_fifo.out_data;
        }
        i.ack_build.ack_rsp_valid = o.path_select.ack_rsp_valid;
        if i.ack_build.ack_rsp_valid {
            i.ack_build.ack_rsp_port = o.path_select.ack_rsp_port;
        }
        i.ack_build.ctl_free = o.egress_arbiter.ctl_free;
        i.ack_take.in_valid = o.ctl_fifo.out_valid;
        if i.ack_take.in_valid {
            i.ack_take.r#in = o.ctl_fifo.out_data;
        }
        i.ack_take.find_rsp_valid = o.qp_table.find_rsp_valid;
        if i.ack_take.find_rsp_valid {
            i.ack_take.find_rsp_ok = o.qp_table.find_rsp_ok;
            i.ack_take.find_rsp_qp = o.qp_table.find_rsp_qp;
            i.ack_take.find_rsp_given = o.qp_table.find_rsp_given;
            i.ack_take.find_rsp_cum = o.qp_table.find_rsp_cum;
            i.ack_take.find_rsp_group = o.qp_table.find_rsp_group;
        }
        i.ack_take.retire_rsp_valid = o.replay_store.retire_rsp_valid;
        if i.ack_take.retire_rsp_valid {
            i.ack_take.retire_rsp_len = o.replay_store.retire_rsp_len;
            i.ack_take.retire_rsp_group = o.replay_store.retire_rsp_group;
            i.ack_take.retire_rsp_last = o.replay_store.retire_rsp_last;
        }
        i.ack_take.upd_done = o.qp_table.upd_done;
    }

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
        i.pcie_link.cfg_pcie_rate = o.cfg_pcie_rate;
        i.pcie_link.cfg_tx_hdr_buf = o.cfg_tx_hdr_buf;
        i.pcie_link.cfg_tx_data_buf = o.cfg_tx_data_buf;
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
        i.egress_arbiter.cfg_egress_pool0 = o.cfg_egress_pool0;
        i.egress_arbiter.cfg_egress_pool1 = o.cfg_egress_pool1;
        i.egress_arbiter.cfg_sched = o.cfg_sched;
        i.egress_arbiter.cfg_weight0 = o.cfg_weight0;
        i.egress_arbiter.cfg_weight1 = o.cfg_weight1;
        i.port_rx.cfg_data_hdr = o.cfg_data_hdr;
        i.packet_parse.cfg_own_ip = o.cfg_own_ip;
        i.packet_parse.cfg_own_mac = o.cfg_own_mac;
        i.packet_parse.cfg_dscp4 = o.cfg_dscp4;
        i.packet_parse.cfg_dscp5 = o.cfg_dscp5;
        i.packet_parse.cfg_data_hdr = o.cfg_data_hdr;
        i.packet_parse.cfg_charge_less = o.cfg_charge_less;
        i.ingress_pool.cfg_ingress_pool0 = o.cfg_ingress_pool0;
        i.ingress_pool.cfg_ingress_pool1 = o.cfg_ingress_pool1;
        i.rx_track.cfg_peer_valid = o.cfg_peer_valid;
        i.rx_track.cfg_peer_ip = o.cfg_peer_ip;
        i.rx_track.cfg_range = o.cfg_range;
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
        i.ack_take.cfg_nominal_overhead = o.cfg_nominal_overhead;
        i.completion.cfg_cq_base = o.cfg_cq_base;
        i.completion.cfg_cq_log2 = o.cfg_cq_log2;
    }

    /// Readys, from sink to source.
    pub(super) fn connect_readys(&mut self) {
        let (b, i, o) = (&self.b, &mut self.i, &mut self.o);
        i.tlp_parse.page_ready = o.page_fifo.in_ready;
        i.page_fifo.out_ready = o.doorbell.page_ready;
        i.doorbell.qp_ready = o.qp_table.qp_ready;
        i.doorbell.close_ready = o.rx_track.close_ready;
        i.tx_scheduler.sent_ready = o.completion.sent_ready;
        i.payload_fetch.ord_ready = o.order_fifo.in_ready;
        i.pcie_link.rpush_ready = o.pcie_reads.in_ready;
        i.pcie_link.wpush_ready = o.pcie_writes.in_ready;
        i.pcie_link.cpush_ready = o.pcie_cqes.in_ready;
        i.packet_build.build_ready = o.qp_table.build_ready;
        i.packet_build.frame_ready = o.dat_queue.in_ready;
        i.ingress_pool.dat_ready = o.dat_fifo.in_ready;
        i.ingress_pool.ctl_ready = o.ctl_fifo.in_ready;
        i.dat_fifo.out_ready = o.rx_track.in_ready;
        i.ctl_fifo.out_ready = o.ack_take.in_ready;
        i.rx_track.deliver_ready = o.deliver_fifo.in_ready;
        i.rx_track.answer_ready = o.answer_fifo.in_ready;
        i.answer_fifo.out_ready = o.ack_build.answer_ready;
        i.ack_build.frame_ready = o.ctl_queue.in_ready;
        i.ack_take.find_ready = o.qp_table.find_ready;
        i.ack_take.upd_ready = o.qp_table.upd_ready;
        i.completion.done_ready = o.qp_table.done_ready;
        b.replay_store.ready(&i.replay_store, &mut o.replay_store);
        b.tlp_parse.ready(&i.tlp_parse, &mut o.tlp_parse);
        i.rx_fifo.out_ready = o.tlp_parse.rx_ready;
        b.rx_fifo.ready(&i.rx_fifo, &mut o.rx_fifo);
        b.path_select.ready(&i.path_select, &mut o.path_select);
        b.window.ready(&i.window, &mut o.window);
        i.packet_build.query_ready = o.window.query_ready;
        i.packet_build.data_ready = o.path_select.data_ready;
        i.packet_build.rec_ready = o.replay_store.build_ready;
        b.packet_build.ready(&i.packet_build, &mut o.packet_build);
        b.pcie_link.ready(&i.pcie_link, &mut o.pcie_link);
        i.tlp_engine.tx_ready = o.pcie_link.tx_ready;
        b.tlp_engine.ready(&i.tlp_engine, &mut o.tlp_engine);
        i.payload_fetch.rd_ready = o.tlp_engine.rd_ready;
        i.payload_fetch.hand_ready = o.packet_build.hand_ready;
        b.payload_fetch.ready(&i.payload_fetch, &mut o.payload_fetch);
        i.tx_scheduler.try_ready = o.window.try_ready;
        i.tx_scheduler.seg_ready = o.payload_fetch.seg_ready;
        b.tx_scheduler.ready(&i.tx_scheduler, &mut o.tx_scheduler);
        i.completion.final_ready = o.replay_store.final_ready;
        i.completion.cqe_ready = o.tlp_engine.cqe_ready;
        b.completion.ready(&i.completion, &mut o.completion);
        i.doorbell.post_sched_ready = o.tx_scheduler.post_ready;
        i.doorbell.post_done_ready = o.completion.post_done_ready;
        i.doorbell.err_ready = o.completion.err_ready;
        b.doorbell.ready(&i.doorbell, &mut o.doorbell);
        i.qp_table.open_ready = o.window.open_ready;
        b.qp_table.ready(&i.qp_table, &mut o.qp_table);
        i.order_fifo.out_ready = o.payload_fetch.head_ready;
        b.order_fifo.ready(&i.order_fifo, &mut o.order_fifo);
        i.pcie_reads.out_ready = o.pcie_link.rhead_ready;
        b.pcie_reads.ready(&i.pcie_reads, &mut o.pcie_reads);
        i.pcie_writes.out_ready = o.pcie_link.whead_ready;
        b.pcie_writes.ready(&i.pcie_writes, &mut o.pcie_writes);
        i.pcie_cqes.out_ready = o.pcie_link.chead_ready;
        b.pcie_cqes.ready(&i.pcie_cqes, &mut o.pcie_cqes);
        b.egress_arbiter.ready(&i.egress_arbiter, &mut o.egress_arbiter);
        i.dat_queue.out_ready = o.egress_arbiter.dat_ready;
        b.dat_queue.ready(&i.dat_queue, &mut o.dat_queue);
        i.ctl_queue.out_ready = o.egress_arbiter.ctl_ready;
        b.ctl_queue.ready(&i.ctl_queue, &mut o.ctl_queue);
        b.dat_fifo.ready(&i.dat_fifo, &mut o.dat_fifo);
        b.ctl_fifo.ready(&i.ctl_fifo, &mut o.ctl_fifo);
        i.payload_write.wr_ready = o.tlp_engine.wr_ready;
        i.payload_write.comp_ready = o.completion.comp_ready;
        b.payload_write.ready(&i.payload_write, &mut o.payload_write);
        i.deliver_fifo.out_ready = o.payload_write.in_ready;
        b.deliver_fifo.ready(&i.deliver_fifo, &mut o.deliver_fifo);
        b.answer_fifo.ready(&i.answer_fifo, &mut o.answer_fifo);
        // These go into registers only.
        i.replay_store.slot_ready = o.tx_scheduler.slot_ready;
        i.completion.msg_ready = o.doorbell.msg_ready;
        i.ack_build.ack_ready = o.path_select.ack_ready;
        i.ack_take.retire_ready = o.replay_store.retire_ready;
        i.ack_take.sub_ready = o.window.sub_ready;
        i.ack_take.ack_ready = o.tx_scheduler.ack_ready;
        i.ack_take.cover_ready = o.completion.cover_ready;
    }

    /// The edge of every memory; what was read is an input from the next clock on.
    pub(super) fn clock_memories(&mut self) {
        let (i, o, m) = (&mut self.i, &self.o, &mut self.m);
        if o.rx_fifo.ram_re {
            m.rx_fifo_ram.read(o.rx_fifo.ram_raddr);
            i.rx_fifo.ram_rdata = m.rx_fifo_ram.rdata;
            self.read |= 1 << 0;
        }
        if o.rx_fifo.ram_we {
            m.rx_fifo_ram.write(o.rx_fifo.ram_waddr, o.rx_fifo.ram_wdata);
        }
        if o.qp_table.ctx_re {
            m.qp_table_ctx.read(o.qp_table.ctx_raddr);
            i.qp_table.ctx_rdata = m.qp_table_ctx.rdata;
            self.read |= 1 << 1;
        }
        if o.qp_table.ctx_we {
            m.qp_table_ctx.write(o.qp_table.ctx_waddr, o.qp_table.ctx_wdata);
        }
        if o.window.win_re {
            m.window_win.read(o.window.win_raddr);
            i.window.win_rdata = m.window_win.rdata;
            self.read |= 1 << 2;
        }
        if o.window.win_we {
            m.window_win.write(o.window.win_waddr, o.window.win_wdata);
        }
        if o.tx_scheduler.qctx_re {
            m.tx_scheduler_qctx.read(o.tx_scheduler.qctx_raddr);
            i.tx_scheduler.qctx_rdata = m.tx_scheduler_qctx.rdata;
            self.read |= 1 << 3;
        }
        if o.tx_scheduler.qctx_we {
            m.tx_scheduler_qctx.write(o.tx_scheduler.qctx_waddr, o.tx_scheduler.qctx_wdata);
        }
        if o.tx_scheduler.smsg_re {
            m.tx_scheduler_smsg.read(o.tx_scheduler.smsg_raddr);
            i.tx_scheduler.smsg_rdata = m.tx_scheduler_smsg.rdata;
            self.read |= 1 << 4;
        }
        if o.tx_scheduler.smsg_we {
            m.tx_scheduler_smsg.write(o.tx_scheduler.smsg_waddr, o.tx_scheduler.smsg_wdata);
        }
        if o.tx_scheduler.work_re {
            m.tx_scheduler_work.read(o.tx_scheduler.work_raddr);
            i.tx_scheduler.work_rdata = m.tx_scheduler_work.rdata;
            self.read |= 1 << 5;
        }
        if o.tx_scheduler.work_we {
            m.tx_scheduler_work.write(o.tx_scheduler.work_waddr, o.tx_scheduler.work_wdata);
        }
        if o.replay_store.map_re {
            m.replay_store_map.read(o.replay_store.map_raddr);
            i.replay_store.map_rdata = m.replay_store_map.rdata;
            self.read |= 1 << 6;
        }
        if o.replay_store.map_we {
            m.replay_store_map.write(o.replay_store.map_waddr, o.replay_store.map_wdata);
        }
        if o.replay_store.rec_re {
            m.replay_store_rec.read(o.replay_store.rec_raddr);
            i.replay_store.rec_rdata = m.replay_store_rec.rdata;
            self.read |= 1 << 7;
        }
        if o.replay_store.rec_we {
            m.replay_store_rec.write(o.replay_store.rec_waddr, o.replay_store.rec_wdata);
        }
        if o.replay_store.fl_re {
            m.replay_store_fl.read(o.replay_store.fl_raddr);
            i.replay_store.fl_rdata = m.replay_store_fl.rdata;
            self.read |= 1 << 8;
        }
        if o.replay_store.fl_we {
            m.replay_store_fl.write(o.replay_store.fl_waddr, o.replay_store.fl_wdata);
        }
        if o.port_tx.bank_re & 1 == 1 {
            m.replay0.read(o.port_tx.bank_raddr0);
            i.port_tx.bank_rdata0 = m.replay0.rdata;
            self.read |= 1 << 9;
        }
        if o.payload_fetch.bank_we & 1 == 1 {
            m.replay0.write(o.payload_fetch.bank_waddr, o.payload_fetch.bank_wdata);
        }
        if o.port_tx.bank_re >> 1 & 1 == 1 {
            m.replay1.read(o.port_tx.bank_raddr1);
            i.port_tx.bank_rdata1 = m.replay1.rdata;
            self.read |= 1 << 10;
        }
        if o.payload_fetch.bank_we >> 1 & 1 == 1 {
            m.replay1.write(o.payload_fetch.bank_waddr, o.payload_fetch.bank_wdata);
        }
        if o.payload_fetch.tagr_re {
            m.payload_fetch_tagr.read(o.payload_fetch.tagr_raddr);
            i.payload_fetch.tagr_rdata = m.payload_fetch_tagr.rdata;
            self.read |= 1 << 11;
        }
        if o.payload_fetch.tagr_we {
            m.payload_fetch_tagr.write(o.payload_fetch.tagr_waddr, o.payload_fetch.tagr_wdata);
        }
        if o.order_fifo.ram_re {
            m.order_fifo_ram.read(o.order_fifo.ram_raddr);
            i.order_fifo.ram_rdata = m.order_fifo_ram.rdata;
            self.read |= 1 << 12;
        }
        if o.order_fifo.ram_we {
            m.order_fifo_ram.write(o.order_fifo.ram_waddr, o.order_fifo.ram_wdata);
        }
        if o.pcie_link.buf_re {
            m.pcie_link_buf.read(o.pcie_link.buf_raddr);
            i.pcie_link.buf_rdata = m.pcie_link_buf.rdata;
            self.read |= 1 << 13;
        }
        if o.pcie_link.buf_we {
            m.pcie_link_buf.write(o.pcie_link.buf_waddr, o.pcie_link.buf_wdata);
        }
        if o.pcie_reads.ram_re {
            m.pcie_reads_ram.read(o.pcie_reads.ram_raddr);
            i.pcie_reads.ram_rdata = m.pcie_reads_ram.rdata;
            self.read |= 1 << 14;
        }
        if o.pcie_reads.ram_we {
            m.pcie_reads_ram.write(o.pcie_reads.ram_waddr, o.pcie_reads.ram_wdata);
        }
        if o.pcie_writes.ram_re {
            m.pcie_writes_ram.read(o.pcie_writes.ram_raddr);
            i.pcie_writes.ram_rdata = m.pcie_writes_ram.rdata;
            self.read |= 1 << 15;
        }
        if o.pcie_writes.ram_we {
            m.pcie_writes_ram.write(o.pcie_writes.ram_waddr, o.pcie_writes.ram_wdata);
        }
        if o.pcie_cqes.ram_re {
            m.pcie_cqes_ram.read(o.pcie_cqes.ram_raddr);
            i.pcie_cqes.ram_rdata = m.pcie_cqes_ram.rdata;
            self.read |= 1 << 16;
        }
        if o.pcie_cqes.ram_we {
            m.pcie_cqes_ram.write(o.pcie_cqes.ram_waddr, o.pcie_cqes.ram_wdata);
        }
        if o.dat_queue.ram_re {
            m.dat_queue_ram.read(o.dat_queue.ram_raddr);
            i.dat_queue.ram_rdata = m.dat_queue_ram.rdata;
            self.read |= 1 << 17;
        }
        if o.dat_queue.ram_we {
            m.dat_queue_ram.write(o.dat_queue.ram_waddr, o.dat_queue.ram_wdata);
        }
        if o.ctl_queue.ram_re {
            m.ctl_queue_ram.read(o.ctl_queue.ram_raddr);
            i.ctl_queue.ram_rdata = m.ctl_queue_ram.rdata;
            self.read |= 1 << 18;
        }
        if o.ctl_queue.ram_we {
            m.ctl_queue_ram.write(o.ctl_queue.ram_waddr, o.ctl_queue.ram_wdata);
        }
        if o.payload_write.ring_re {
            m.ingress_ring.read(o.payload_write.ring_raddr);
            i.payload_write.ring_rdata = m.ingress_ring.rdata;
            self.read |= 1 << 19;
        }
        if o.ingress_pool.ring_we {
            m.ingress_ring.write(o.ingress_pool.ring_waddr, o.ingress_pool.ring_wdata);
        }
        if o.dat_fifo.ram_re {
            m.dat_fifo_ram.read(o.dat_fifo.ram_raddr);
            i.dat_fifo.ram_rdata = m.dat_fifo_ram.rdata;
            self.read |= 1 << 20;
        }
        if o.dat_fifo.ram_we {
            m.dat_fifo_ram.write(o.dat_fifo.ram_waddr, o.dat_fifo.ram_wdata);
        }
        if o.ctl_fifo.ram_re {
            m.ctl_fifo_ram.read(o.ctl_fifo.ram_raddr);
            i.ctl_fifo.ram_rdata = m.ctl_fifo_ram.rdata;
            self.read |= 1 << 21;
        }
        if o.ctl_fifo.ram_we {
            m.ctl_fifo_ram.write(o.ctl_fifo.ram_waddr, o.ctl_fifo.ram_wdata);
        }
        if o.rx_track.peer_re {
            m.rx_track_peer.read(o.rx_track.peer_raddr);
            i.rx_track.peer_rdata = m.rx_track_peer.rdata;
            self.read |= 1 << 22;
        }
        if o.rx_track.peer_we {
            m.rx_track_peer.write(o.rx_track.peer_waddr, o.rx_track.peer_wdata);
        }
        if o.rx_track.rctx_re {
            m.rx_track_rctx.read(o.rx_track.rctx_raddr);
            i.rx_track.rctx_rdata = m.rx_track_rctx.rdata;
            self.read |= 1 << 23;
        }
        if o.rx_track.rctx_we {
            m.rx_track_rctx.write(o.rx_track.rctx_waddr, o.rx_track.rctx_wdata);
        }
        if o.deliver_fifo.ram_re {
            m.deliver_fifo_ram.read(o.deliver_fifo.ram_raddr);
            i.deliver_fifo.ram_rdata = m.deliver_fifo_ram.rdata;
            self.read |= 1 << 24;
        }
        if o.deliver_fifo.ram_we {
            m.deliver_fifo_ram.write(o.deliver_fifo.ram_waddr, o.deliver_fifo.ram_wdata);
        }
        if o.answer_fifo.ram_re {
            m.answer_fifo_ram.read(o.answer_fifo.ram_raddr);
            i.answer_fifo.ram_rdata = m.answer_fifo_ram.rdata;
            self.read |= 1 << 25;
        }
        if o.answer_fifo.ram_we {
            m.answer_fifo_ram.write(o.answer_fifo.ram_waddr, o.answer_fifo.ram_wdata);
        }
        if o.completion.cmsg_re {
            m.completion_cmsg.read(o.completion.cmsg_raddr);
            i.completion.cmsg_rdata = m.completion_cmsg.rdata;
            self.read |= 1 << 26;
        }
        if o.completion.cmsg_we {
            m.completion_cmsg.write(o.completion.cmsg_waddr, o.completion.cmsg_wdata);
        }
        if o.completion.cqp_re {
            m.completion_cqp.read(o.completion.cqp_raddr);
            i.completion.cqp_rdata = m.completion_cqp.rdata;
            self.read |= 1 << 27;
        }
        if o.completion.cqp_we {
            m.completion_cqp.write(o.completion.cqp_waddr, o.completion.cqp_wdata);
        }
        if o.completion.fl_re {
            m.completion_fl.read(o.completion.fl_raddr);
            i.completion.fl_rdata = m.completion_fl.rdata;
            self.read |= 1 << 28;
        }
        if o.completion.fl_we {
            m.completion_fl.write(o.completion.fl_waddr, o.completion.fl_wdata);
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
        i.deliver_fifo.ram_rdata = m.deliver_fifo_ram.rdata;
        i.payload_write.ring_rdata = m.ingress_ring.rdata;
        i.answer_fifo.ram_rdata = m.answer_fifo_ram.rdata;
        i.completion.cmsg_rdata = m.completion_cmsg.rdata;
        i.completion.cqp_rdata = m.completion_cqp.rdata;
        i.completion.fl_rdata = m.completion_fl.rdata;
    }

    /// The NIC's own ports.
    pub(super) fn connect_ports(&mut self, ports: &Inputs) {
        let i = &mut self.i;
        i.rx_fifo.in_valid = ports.rx_valid;
        if ports.rx_valid {
            i.rx_fifo.in_data = ports.rx;
        }
        i.port_rx.wire_valid = ports.wire_valid;
        if ports.wire_valid {
            i.port_rx.wire_sop = ports.wire_sop;
            i.port_rx.wire_eop = ports.wire_eop;
            i.port_rx.wire_bytes = ports.wire_bytes;
            i.port_rx.wire_data = ports.wire_data;
        }
    }
}
