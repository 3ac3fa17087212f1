//! The blocks and memories of the NIC, in the order of the path.

use crate::image::Item;
use crate::ram_fifo;
use crate::sizes::Sizes;

/// Some output hangs on inputs.
pub(super) fn always<T>(_o: &T) -> bool {
    true
}

/// Every output comes from registers.
pub(super) fn never<T>(_o: &T) -> bool {
    false
}

/// The memory port hangs on inputs. A FIFO that is idle has it at rest, as it was when its
/// registers last changed.
pub(super) fn fifo<T: Item>(o: &ram_fifo::Outputs<T>) -> bool {
    o.ram_we || o.ram_re
}

/// The sizes of a block that has a slot for each message.
pub(super) fn messages(sizes: &Sizes) -> Sizes {
    Sizes { slots: sizes.msgs, ..*sizes }
}

/// Every block: number, name, instance, registers, ports, after a reset, and when an output can
/// have changed though no register has.
macro_rules! blocks {
    ($with:ident $(, $more:expr)*) => {
        $with! { [$($more),*]
            0 csr "u_csr" (csr::Regs) (csr::Inputs) (csr::Outputs) (csr::Regs::reset) (never);
            1 rx_fifo "u_rx_fifo" (RamFifo<TlpBeat>) (ram_fifo::Inputs<TlpBeat>) (ram_fifo::Outputs<TlpBeat>) (|_: &Sizes| RamFifo::new(4096)) (fifo);
            2 tlp_parse "u_tlp_parse" (tlp_parse::Regs) (tlp_parse::Inputs) (tlp_parse::Outputs) (tlp_parse::Regs::reset) (always);
            3 page_fifo "u_page_fifo" (StreamFifo<PageWrite>) (stream_fifo::Inputs<PageWrite>) (stream_fifo::Outputs<PageWrite>) (|_: &Sizes| StreamFifo::new(4)) (never);
            4 doorbell "u_doorbell" (doorbell::Regs) (doorbell::Inputs) (doorbell::Outputs) (doorbell::Regs::reset) (always);
            5 qp_table "u_qp_table" (qp_table::Regs) (qp_table::Inputs) (qp_table::Outputs) (qp_table::Regs::reset) (always);
            6 window "u_window" (window::Regs) (window::Inputs) (window::Outputs) (window::Regs::reset) (always);
            7 path_select "u_path_select" (path_select::Regs) (path_select::Inputs) (path_select::Outputs) (path_select::Regs::reset) (always);
            54 path_probe "u_path_probe" (path_probe::Regs) (path_probe::Inputs) (path_probe::Outputs) (path_probe::Regs::reset) (always);
            8 tx_scheduler "u_tx_scheduler" (tx_scheduler::Regs) (tx_scheduler::Inputs) (tx_scheduler::Outputs) (tx_scheduler::Regs::reset) (always);
            9 replay_store "u_replay_store" (replay_store::Regs) (replay_store::Inputs) (replay_store::Outputs) (replay_store::Regs::reset) (always);
            10 payload_fetch "u_payload_fetch" (payload_fetch::Regs) (payload_fetch::Inputs) (payload_fetch::Outputs) (payload_fetch::Regs::reset) (always);
            47 prefetch_pool "u_prefetch_pool" (prefetch_pool::Regs) (prefetch_pool::Inputs) (prefetch_pool::Outputs) (prefetch_pool::Regs::reset) (never);
            11 order_fifo "u_order_fifo" (RamFifo<Segment>) (ram_fifo::Inputs<Segment>) (ram_fifo::Outputs<Segment>) (|sizes: &Sizes| RamFifo::new(sizes.slots)) (fifo);
            12 tlp_engine "u_tlp_engine" (tlp_engine::Regs) (tlp_engine::Inputs) (tlp_engine::Outputs) (tlp_engine::Regs::reset) (always);
            13 pcie_link "u_pcie_link" (pcie_link::Regs) (pcie_link::Inputs) (pcie_link::Outputs) (pcie_link::Regs::reset) (always);
            14 pcie_reads "u_pcie_reads" (RamFifo<pcie_link::Entry>) (ram_fifo::Inputs<pcie_link::Entry>) (ram_fifo::Outputs<pcie_link::Entry>) (|_: &Sizes| RamFifo::new(1024)) (fifo);
            15 pcie_writes "u_pcie_writes" (RamFifo<pcie_link::Entry>) (ram_fifo::Inputs<pcie_link::Entry>) (ram_fifo::Outputs<pcie_link::Entry>) (|_: &Sizes| RamFifo::new(1024)) (fifo);
            16 pcie_cqes "u_pcie_cqes" (RamFifo<pcie_link::CqeEntry>) (ram_fifo::Inputs<pcie_link::CqeEntry>) (ram_fifo::Outputs<pcie_link::CqeEntry>) (|_: &Sizes| RamFifo::new(1024)) (fifo);
            17 packet_build "u_packet_build" (packet_build::Regs) (packet_build::Inputs) (packet_build::Outputs) (packet_build::Regs::reset) (always);
            18 dat_queue "u_dat_queue" (RamFifo<Frame>) (ram_fifo::Inputs<Frame>) (ram_fifo::Outputs<Frame>) (|sizes: &Sizes| RamFifo::new(sizes.frames)) (fifo);
            19 ctl_queue "u_ctl_queue" (RamFifo<Frame>) (ram_fifo::Inputs<Frame>) (ram_fifo::Outputs<Frame>) (|sizes: &Sizes| RamFifo::new(sizes.frames)) (fifo);
            20 egress_arbiter "u_egress_arbiter" (egress_arbiter::Regs) (egress_arbiter::Inputs) (egress_arbiter::Outputs) (egress_arbiter::Regs::reset) (always);
            21 port_tx "u_port_tx" (port_tx::Regs) (port_tx::Inputs) (port_tx::Outputs) (port_tx::Regs::reset) (never);
            22 port_rx "u_port_rx" (port_rx::Regs) (port_rx::Inputs) (port_rx::Outputs) (port_rx::Regs::reset) (never);
            23 packet_parse "u_packet_parse" (packet_parse::Regs) (packet_parse::Inputs) (packet_parse::Outputs) (packet_parse::Regs::reset) (never);
            24 ingress_pool "u_ingress_pool" (ingress_pool::Regs) (ingress_pool::Inputs) (ingress_pool::Outputs) (ingress_pool::Regs::reset) (never);
            25 dat_fifo "u_dat_fifo" (RamFifo<Parsed>) (ram_fifo::Inputs<Parsed>) (ram_fifo::Outputs<Parsed>) (|_: &Sizes| RamFifo::new(8192)) (fifo);
            26 ctl_fifo "u_ctl_fifo" (RamFifo<Parsed>) (ram_fifo::Inputs<Parsed>) (ram_fifo::Outputs<Parsed>) (|_: &Sizes| RamFifo::new(8192)) (fifo);
            27 rx_track "u_rx_track" (rx_track::Regs) (rx_track::Inputs) (rx_track::Outputs) (rx_track::Regs::reset) (never);
            40 rx_bitmap "u_rx_bitmap" (sack_bitmap::Regs) (sack_bitmap::Inputs) (sack_bitmap::Outputs) (sack_bitmap::Regs::reset) (always);
            28 deliver_fifo "u_deliver_fifo" (RamFifo<Delivery>) (ram_fifo::Inputs<Delivery>) (ram_fifo::Outputs<Delivery>) (|sizes: &Sizes| RamFifo::new(2 * sizes.ingress_words)) (fifo);
            29 payload_write "u_payload_write" (payload_write::Regs) (payload_write::Inputs) (payload_write::Outputs) (payload_write::Regs::reset) (always);
            30 answer_fifo "u_answer_fifo" (RamFifo<Reply>) (ram_fifo::Inputs<Reply>) (ram_fifo::Outputs<Reply>) (|_: &Sizes| RamFifo::new(1024)) (fifo);
            31 ack_build "u_ack_build" (ack_build::Regs) (ack_build::Inputs) (ack_build::Outputs) (ack_build::Regs::reset) (never);
            32 ack_take "u_ack_take" (ack_take::Regs) (ack_take::Inputs) (ack_take::Outputs) (ack_take::Regs::reset) (never);
            45 rtt_sample "u_rtt_sample" (rtt_sample::Regs) (rtt_sample::Inputs) (rtt_sample::Outputs) (rtt_sample::Regs::reset) (never);
            33 completion "u_completion" (completion::Regs) (completion::Inputs) (completion::Outputs) (completion::Regs::reset) (always);
            34 qp_drain "u_qp_drain" (qp_drain::Regs) (qp_drain::Inputs) (qp_drain::Outputs) (qp_drain::Regs::reset) (never);
            52 sent_bitmap "u_sent_bitmap" (sack_bitmap::Regs) (sack_bitmap::Inputs) (sack_bitmap::Outputs) (sack_bitmap::Regs::reset) (always);
            53 built_fifo "u_built_fifo" (RamFifo<u32>) (ram_fifo::Inputs<u32>) (ram_fifo::Outputs<u32>) (|sizes: &Sizes| RamFifo::new(sizes.slots)) (fifo);
            35 retransmit "u_retransmit" (retransmit::Regs) (retransmit::Inputs) (retransmit::Outputs) (retransmit::Regs::reset) (always);
            36 timer_wheel "u_timer_wheel" (timer_wheel::Regs) (timer_wheel::Inputs) (timer_wheel::Outputs) (timer_wheel::Regs::reset) (always);
            37 waits "u_waits" (sack_bitmap::Regs) (sack_bitmap::Inputs) (sack_bitmap::Outputs) (sack_bitmap::Regs::reset) (always);
            38 pcie_room "u_pcie_room" (pcie_room::Regs) (pcie_room::Inputs) (pcie_room::Outputs) (pcie_room::Regs::reset) (never);
            41 pause_hold "u_pause_hold" (pause_hold::Regs) (pause_hold::Inputs) (pause_hold::Outputs) (pause_hold::Regs::reset) (never);
            42 pause_send "u_pause_send" (pause_send::Regs) (pause_send::Inputs) (pause_send::Outputs) (pause_send::Regs::reset) (never);
            43 ack_hold "u_ack_hold" (ack_hold::Regs) (ack_hold::Inputs) (ack_hold::Outputs) (ack_hold::Regs::reset) (always);
            46 ask_wheel "u_ask_wheel" (timer_wheel::Regs) (timer_wheel::Inputs) (timer_wheel::Outputs) (|sizes: &Sizes| timer_wheel::Regs::reset(&messages(sizes))) (always);
            55 ack_ask "u_ack_ask" (ack_ask::Regs) (ack_ask::Inputs) (ack_ask::Outputs) (ack_ask::Regs::reset) (always);
            44 nack_fifo "u_nack_fifo" (RamFifo<Reply>) (ram_fifo::Inputs<Reply>) (ram_fifo::Outputs<Reply>) (|_: &Sizes| RamFifo::new(1024)) (fifo);
        }
    };
}

/// Every memory: number, name, instance, type of a word, words.
macro_rules! memories {
    ($with:ident $(, $more:expr)*) => {
        $with! { [$($more),*]
            0 rx_fifo_ram "u_rx_fifo_ram" (TlpBeat) (|_: &Sizes| 4096);
            1 qp_table_ctx "u_qp_table_ctx" (qp_table::Ctx) (|sizes: &Sizes| sizes.qps as usize);
            2 window_win "u_window_win" (window::Win) (|sizes: &Sizes| sizes.qps as usize);
            3 tx_scheduler_qctx "u_tx_scheduler_qctx" (tx_scheduler::Context) (|sizes: &Sizes| sizes.qps as usize);
            4 tx_scheduler_smsg "u_tx_scheduler_smsg" (tx_scheduler::Message) (|sizes: &Sizes| sizes.msgs as usize);
            5 tx_scheduler_work "u_tx_scheduler_work" (tx_scheduler::Work) (|sizes: &Sizes| sizes.qps as usize);
            6 replay_store_map "u_replay_store_map" (replay_store::SlotWord) (|sizes: &Sizes| sizes.qps as usize * sizes.psns as usize);
            7 replay_store_rec "u_replay_store_rec" (replay_store::Record) (|sizes: &Sizes| sizes.slots as usize);
            8 replay_store_fl "u_replay_store_fl" (replay_store::SlotWord) (|sizes: &Sizes| sizes.slots as usize);
            9 replay0 "u_replay0" (Word) (|sizes: &Sizes| sizes.slots as usize * 65);
            10 replay1 "u_replay1" (Word) (|sizes: &Sizes| sizes.slots as usize * 65);
            11 payload_fetch_tagr "u_payload_fetch_tagr" (payload_fetch::Record) (|sizes: &Sizes| sizes.tags as usize);
            12 order_fifo_ram "u_order_fifo_ram" (Segment) (|sizes: &Sizes| sizes.slots as usize);
            13 pcie_link_buf "u_pcie_link_buf" (Beat) (|_: &Sizes| 4096);
            14 pcie_reads_ram "u_pcie_reads_ram" (pcie_link::Entry) (|_: &Sizes| 1024);
            15 pcie_writes_ram "u_pcie_writes_ram" (pcie_link::Entry) (|_: &Sizes| 1024);
            16 pcie_cqes_ram "u_pcie_cqes_ram" (pcie_link::CqeEntry) (|_: &Sizes| 1024);
            17 dat_queue_ram "u_dat_queue_ram" (Frame) (|sizes: &Sizes| sizes.frames as usize);
            18 ctl_queue_ram "u_ctl_queue_ram" (Frame) (|sizes: &Sizes| sizes.frames as usize);
            19 ingress_ring "u_ingress_ring" (Word) (|sizes: &Sizes| sizes.ingress_words as usize);
            20 dat_fifo_ram "u_dat_fifo_ram" (Parsed) (|_: &Sizes| 8192);
            21 ctl_fifo_ram "u_ctl_fifo_ram" (Parsed) (|_: &Sizes| 8192);
            22 rx_track_peer "u_rx_track_peer" (rx_track::Peer) (|sizes: &Sizes| sizes.dests as usize * sizes.qps as usize);
            23 rx_track_rctx "u_rx_track_rctx" (rx_track::Side) (|sizes: &Sizes| sizes.qps as usize);
            43 rx_track_ends "u_rx_track_ends" (rx_track::End) (|sizes: &Sizes| sizes.qps as usize * sizes.psns as usize);
            40 rx_bitmap_bits "u_rx_bitmap_bits" (u64) (|sizes: &Sizes| sizes.qps as usize * sizes.psns as usize / 64);
            41 rx_bitmap_mark "u_rx_bitmap_mark" (sack_bitmap::Marks) (|sizes: &Sizes| sizes.qps as usize * sizes.psns as usize / 64);
            42 rx_bitmap_any "u_rx_bitmap_any" (u16) (|sizes: &Sizes| sizes.qps as usize);
            24 deliver_fifo_ram "u_deliver_fifo_ram" (Delivery) (|sizes: &Sizes| 2 * sizes.ingress_words as usize);
            25 answer_fifo_ram "u_answer_fifo_ram" (Reply) (|_: &Sizes| 1024);
            44 nack_fifo_ram "u_nack_fifo_ram" (Reply) (|_: &Sizes| 1024);
            26 completion_cmsg "u_completion_cmsg" (completion::Message) (|sizes: &Sizes| sizes.msgs as usize);
            27 completion_cqp "u_completion_cqp" (completion::List) (|sizes: &Sizes| sizes.qps as usize);
            28 completion_fl "u_completion_fl" (completion::Entry) (|sizes: &Sizes| sizes.msgs as usize);
            37 built_fifo_ram "u_built_fifo_ram" (u32) (|sizes: &Sizes| sizes.slots as usize);
            52 sent_bitmap_bits "u_sent_bitmap_bits" (u64) (|sizes: &Sizes| (sizes.qps * sizes.psns / 64) as usize);
            53 sent_bitmap_any "u_sent_bitmap_any" (u16) (|sizes: &Sizes| sizes.qps as usize);
            45 ask_wheel_rec "u_ask_wheel_rec" (timer_wheel::Record) (|sizes: &Sizes| sizes.msgs as usize);
            46 ask_wheel_spoke "u_ask_wheel_spoke" (timer_wheel::Spoke) (|sizes: &Sizes| timer_wheel::spokes(&messages(sizes)) as usize);
            47 ack_ask_node "u_ack_ask_node" (ack_ask::Node) (|sizes: &Sizes| sizes.msgs as usize);
            29 replay_store_path "u_replay_store_path" (replay_store::Path) (|sizes: &Sizes| sizes.slots as usize);
            30 retransmit_tims "u_retransmit_tims" (retransmit::Timer) (|sizes: &Sizes| sizes.slots as usize);
            31 retransmit_tim "u_retransmit_tim" (retransmit::Timer) (|sizes: &Sizes| sizes.slots as usize);
            32 retransmit_at "u_retransmit_at" (retransmit::Moment) (|sizes: &Sizes| sizes.slots as usize);
            33 timer_wheel_rec "u_timer_wheel_rec" (timer_wheel::Record) (|sizes: &Sizes| sizes.slots as usize);
            34 timer_wheel_spoke "u_timer_wheel_spoke" (timer_wheel::Spoke) (|sizes: &Sizes| timer_wheel::spokes(sizes) as usize);
            35 waits_bits "u_waits_bits" (u64) (|sizes: &Sizes| (sizes.qps * sizes.psns / 64) as usize);
            54 path_select_flag "u_path_select_flag" (path_select::Flags) (|sizes: &Sizes| sizes.dests as usize);
            55 path_select_next "u_path_select_next" (path_select::Link) (|sizes: &Sizes| sizes.dests as usize * 128);
            56 path_select_prev "u_path_select_prev" (path_select::Link) (|sizes: &Sizes| sizes.dests as usize * 128);
            57 path_probe_due "u_path_probe_due" (path_probe::Due) (|sizes: &Sizes| sizes.dests as usize * 128);
            58 path_probe_at "u_path_probe_at" (retransmit::Moment) (|sizes: &Sizes| sizes.dests as usize * 128);
            36 waits_any "u_waits_any" (u16) (|sizes: &Sizes| sizes.qps as usize);
        }
    };
}
pub(super) use {blocks, memories};
