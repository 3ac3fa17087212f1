// The NIC: instances and wires, no logic.
//
// Twin of rtl-model/src/nic.rs. Instances stand in the order of the path: from the host to the
// wire, then from the wire to the host. A memory stands beside the block that it serves and is
// named after the two. The ports are the PCIe bus and the wire; every frame and TLP on them is
// whole, with real headers.
//
// It is longer than a module should be: it is all instances and wires, one port a line.

module nic
  import nic_pkg::*;
  import sched_pkg::*;
  import qp_pkg::*;
  import completion_pkg::*;
  import bitmap_pkg::*;
  import resend_pkg::*;
  import path_pkg::*;
#(
  parameter int unsigned QPS           = 256,
  parameter int unsigned PSNS          = 1024,
  parameter int unsigned SLOTS         = 1024,
  parameter int unsigned MSGS          = 1024,
  parameter int unsigned TAGS          = 256,
  parameter int unsigned DESTS         = 64,
  parameter int unsigned INGRESS_WORDS = 65536,
  parameter int unsigned FRAMES        = 1024
) (
  input logic clk_i,
  input logic rst_ni,

  // TLPs from the host
  input  logic      rx_valid_i,
  output logic      rx_ready_o,
  input  tlp_beat_t rx_i,

  // A whole microsecond, and clocks since reset
  input logic tick_i,
  input micros_t now_i,

  // Room that is free again in the host's receive buffer
  input logic        room_valid_i,
  input logic [15:0] room_hdr_i,
  input logic [15:0] room_data_i,

  // Frames from the wire
  input logic        wire_valid_i,
  input logic        wire_sop_i,
  input logic        wire_eop_i,
  input logic  [7:0] wire_bytes_i,
  input beat_t       wire_data_i,

  // TLPs to the host; completion entries that cost no link time have a bus of their own
  output logic tlp_valid_o,
  output logic tlp_sop_o,
  output logic tlp_eop_o,
  output logic [127:0] tlp_hdr_o,
  output logic [7:0] tlp_dws_o,
  output beat_t tlp_data_o,
  output logic [19:0] tlp_back_o,
  output logic freed_valid_o,  // room in the receive buffer is free again
  output logic freed_hdr_o,
  output logic [3:0] freed_data_o,
  output logic cqe_valid_o,
  output logic [127:0] cqe_hdr_o,
  output logic [255:0] cqe_data_o,

  // Frames to the wire
  output logic wire_valid_o,
  output logic wire_sop_o,
  output logic wire_eop_o,
  output logic [7:0] wire_bytes_o,
  output beat_t wire_data_o,
  output rate_t wire_back_o
);

  // From csr
  logic csr_bad_write;
  len_t csr_cfg_mss;
  logic [10:0] csr_cfg_range;
  psn_t csr_cfg_initial_psn;
  rate_t csr_cfg_wire_rate;
  rate_t csr_cfg_pcie_rate;
  logic [31:0] csr_cfg_own_ip;
  logic [47:0] csr_cfg_own_mac;
  logic [47:0] csr_cfg_hop_mac;
  logic [63:0] csr_cfg_cq_base;
  logic [4:0] csr_cfg_cq_log2;
  bytes_t csr_cfg_init_window;
  len_t csr_cfg_unit;
  logic csr_cfg_groups;
  logic csr_cfg_trimming;
  logic csr_cfg_distinct_rtx;
  logic csr_cfg_cqe_on_link;
  logic [10:0] csr_cfg_loss;
  logic csr_cfg_icrc;
  logic csr_cfg_stamps;
  logic [1:0] csr_cfg_sched;
  logic [1:0] csr_cfg_ecn;
  logic [5:0] csr_cfg_dscp0;
  logic [5:0] csr_cfg_dscp1;
  logic [5:0] csr_cfg_dscp2;
  logic [5:0] csr_cfg_dscp3;
  logic [5:0] csr_cfg_dscp4;
  logic [5:0] csr_cfg_dscp5;
  bytes_t csr_cfg_tx_hdr_buf;
  bytes_t csr_cfg_tx_data_buf;
  logic [6:0] csr_cfg_data_hdr;
  logic [6:0] csr_cfg_wire_overhead;
  logic [6:0] csr_cfg_nominal_overhead;
  logic [4:0] csr_cfg_charge_less;
  logic [4:0] csr_cfg_ack_extra;
  logic [63:0] csr_cfg_weights;
  logic [15:0] csr_cfg_rid;
  logic [7:0] csr_cfg_ttl;
  bytes_t csr_cfg_rx_hdr_buf;
  bytes_t csr_cfg_rx_data_buf;
  bytes_t csr_cfg_far_hdr_buf;
  bytes_t csr_cfg_far_data_buf;
  logic [7:0] csr_cfg_pcie_overhead;
  logic [9:0] csr_cfg_read_request;
  logic [1:0] csr_cfg_max_payload;
  logic [63:0] csr_cfg_timeout;
  logic [2:0] csr_cfg_linear;
  logic [4:0] csr_cfg_expo;
  logic csr_cfg_fixed;
  logic [63:0] csr_cfg_peer_valid;
  logic [2047:0] csr_cfg_peer_ip;
  logic [255:0] csr_cfg_egress_pool;
  logic [255:0] csr_cfg_ingress_pool;
  logic [255:0] csr_cfg_xoff;
  logic [255:0] csr_cfg_xon;
  logic [127:0] csr_cfg_quanta;
  logic [7:0] csr_cfg_pfc_enable;
  logic [23:0] csr_cfg_pfc_delay;
  bytes_t csr_cfg_penalty_low;
  bytes_t csr_cfg_penalty_high;
  logic csr_cfg_ack_hold;
  bytes_t csr_cfg_prefetch;
  logic csr_cfg_prefetch_on;

  // From rx_fifo
  logic rx_fifo_in_ready;
  logic rx_fifo_out_valid;
  tlp_beat_t rx_fifo_out_data;
  logic rx_fifo_ram_we;
  logic [31:0] rx_fifo_ram_waddr;
  tlp_beat_t rx_fifo_ram_wdata;
  logic rx_fifo_ram_re;
  logic [31:0] rx_fifo_ram_raddr;
  logic [31:0] rx_fifo_level;
  tlp_beat_t rx_fifo_ram_rdata;

  // From pcie_room
  logic pcie_room_freed_valid;
  logic pcie_room_freed_hdr;
  logic [3:0] pcie_room_freed_data;
  logic pcie_room_over_valid;

  // From tlp_parse
  logic tlp_parse_rx_ready;
  logic tlp_parse_cpl_valid;
  tag_t tlp_parse_cpl_tag;
  logic tlp_parse_cpl_first;
  logic tlp_parse_cpl_last;
  word_t tlp_parse_cpl_data;
  logic [12:0] tlp_parse_cpl_bytes;
  logic [2:0] tlp_parse_cpl_status;
  logic tlp_parse_cpl_poison;
  logic [12:0] tlp_parse_cpl_count;
  logic [6:0] tlp_parse_cpl_lower;
  logic tlp_parse_page_valid;
  logic [63:0] tlp_parse_page_addr;
  logic [10:0] tlp_parse_page_len;
  logic tlp_parse_page_full;
  word_t tlp_parse_page_data;
  logic tlp_parse_bad_valid;
  logic [2:0] tlp_parse_bad_reason;

  // From page_fifo
  logic page_fifo_in_ready;
  logic page_fifo_out_valid;
  page_write_t page_fifo_out_data;

  // From doorbell
  logic doorbell_page_ready;
  logic doorbell_csr_valid;
  logic [8:0] doorbell_csr_index;
  logic [63:0] doorbell_csr_data;
  logic doorbell_ring;
  logic doorbell_qp_valid;
  logic [1:0] doorbell_qp_op;
  qpn_t doorbell_qp_qpn;
  dest_t doorbell_qp_dest;
  logic doorbell_msg_ready;
  logic doorbell_post_sched_valid;
  logic doorbell_post_done_valid;
  qp_t doorbell_post_qp;
  qpn_t doorbell_post_qpn;
  dest_t doorbell_post_dest;
  group_t doorbell_post_group;
  logic doorbell_post_open;
  msg_t doorbell_post_msg;
  logic [63:0] doorbell_post_laddr;
  logic [63:0] doorbell_post_raddr;
  logic [31:0] doorbell_post_rkey;
  logic [31:0] doorbell_post_len;
  logic [15:0] doorbell_post_msn;
  logic [63:0] doorbell_post_cookie;
  logic doorbell_err_valid;
  refuse_e doorbell_err_code;
  logic [63:0] doorbell_err_cookie;
  qpn_t doorbell_err_qpn;
  logic [31:0] doorbell_err_len;
  logic doorbell_close_valid;
  qpn_t doorbell_close_qpn;
  logic doorbell_refuse_valid;
  refuse_e doorbell_refuse_code;

  // From qp_table
  logic qp_table_find_ready;
  logic qp_table_find_rsp_valid;
  logic qp_table_find_rsp_ok;
  qp_t qp_table_find_rsp_qp;
  psn_t qp_table_find_rsp_given;
  psn_t qp_table_find_rsp_cum;
  group_t qp_table_find_rsp_group;
  dest_t qp_table_find_rsp_dest;
  logic qp_table_find_rsp_recovers;
  psn_t qp_table_find_rsp_recover;
  logic qp_table_upd_ready;
  logic qp_table_upd_done;
  logic qp_table_build_ready;
  logic qp_table_build_rsp_valid;
  qpn_t qp_table_build_rsp_qpn;
  logic qp_table_build_rsp_remote_valid;
  qpn_t qp_table_build_rsp_remote;
  logic qp_table_qp_ready;
  logic qp_table_qp_rsp_valid;
  logic qp_table_qp_rsp_ok;
  logic qp_table_qp_rsp_full;
  logic qp_table_qp_rsp_failed;
  qpn_t qp_table_qp_rsp_qpn;
  group_t qp_table_qp_rsp_group;
  dest_t qp_table_qp_rsp_dest;
  logic [15:0] qp_table_qp_rsp_msn;
  logic qp_table_done_ready;
  logic qp_table_drain_valid;
  qp_t qp_table_drain_qp;
  logic qp_table_end_ready;
  logic qp_table_end_rsp_valid;
  logic qp_table_end_rsp_ok;
  qpn_t qp_table_end_rsp_qpn;
  group_t qp_table_end_rsp_group;
  logic [255:0] qp_table_dead;
  logic qp_table_open_valid;
  group_t qp_table_open_group;
  logic qp_table_created_valid;
  qpn_t qp_table_created_qpn;
  dest_t qp_table_created_dest;
  logic qp_table_closed_valid;
  qpn_t qp_table_closed_qpn;
  logic qp_table_ctx_we;
  logic [31:0] qp_table_ctx_waddr;
  logic [152:0] qp_table_ctx_wdata;
  logic qp_table_ctx_re;
  logic [31:0] qp_table_ctx_raddr;
  logic [152:0] qp_table_ctx_rdata;

  // From qp_drain
  logic qp_drain_failed_ready;
  logic qp_drain_fail_ready;
  logic qp_drain_end_valid;
  qp_t qp_drain_end_qp;
  logic qp_drain_end_close;
  logic qp_drain_end_free;
  logic qp_drain_drop_valid;
  qp_t qp_drain_drop_qp;
  group_t qp_drain_drop_group;
  logic qp_drain_purge_valid;
  qp_t qp_drain_purge_qp;
  logic qp_drain_toss_valid;
  slot_t qp_drain_toss_slot;
  logic qp_drain_flight_valid;
  group_t qp_drain_flight_group;
  len_t qp_drain_flight_bytes;
  logic qp_drain_unresv_valid;
  logic qp_drain_unfetch_valid;
  len_t qp_drain_unresv_bytes;
  logic qp_drain_error_valid;
  qpn_t qp_drain_error_qpn;
  why_e qp_drain_error_why;

  // From window
  logic window_open_ready;
  logic window_sub_ready;
  logic window_lose_ready;
  logic window_toss_ready;
  logic window_query_ready;
  logic window_query_rsp_valid;
  logic window_query_rsp_tight;
  logic window_try_ready;
  logic window_try_rsp_valid;
  logic window_try_rsp_ok;
  bytes_t window_flight_sum;
  logic window_win_we;
  logic [31:0] window_win_waddr;
  logic [63:0] window_win_wdata;
  logic window_win_re;
  logic [31:0] window_win_raddr;
  logic [63:0] window_win_rdata;

  // From path_select
  logic path_select_data_ready;
  logic path_select_data_rsp_valid;
  logic [15:0] path_select_data_rsp_port;
  logic path_select_ack_ready;
  logic path_select_ack_rsp_valid;
  logic [15:0] path_select_ack_rsp_port;
  logic path_select_look_ready;
  logic path_select_look_rsp_valid;
  values_t path_select_look_rsp_bad;
  logic [63:0] path_select_troubled;
  logic path_select_fell_valid;
  logic path_select_rose_valid;
  dest_t path_select_told_dest;
  value_t path_select_told_value;
  logic path_select_flag_we;
  logic [31:0] path_select_flag_waddr;
  flags_t path_select_flag_wdata;
  logic path_select_flag_re;
  logic [31:0] path_select_flag_raddr;
  logic path_select_next_we;
  logic [31:0] path_select_next_waddr;
  value_t path_select_next_wdata;
  logic path_select_next_re;
  logic [31:0] path_select_next_raddr;
  logic path_select_prev_we;
  logic [31:0] path_select_prev_waddr;
  value_t path_select_prev_wdata;
  logic path_select_prev_re;
  logic [31:0] path_select_prev_raddr;
  flags_t path_select_flag_rdata;
  value_t path_select_next_rdata;
  value_t path_select_prev_rdata;

  // From path_probe
  logic path_probe_look_valid;
  dest_t path_probe_look_dest;
  logic path_probe_good_valid;
  dest_t path_probe_good_dest;
  value_t path_probe_good_value;
  logic path_probe_room_valid;
  len_t path_probe_room_bytes;
  logic path_probe_probe_valid;
  qp_t path_probe_probe_qp;
  dest_t path_probe_probe_dest;
  value_t path_probe_probe_value;
  logic [15:0] path_probe_probe_id;
  logic path_probe_sample_valid;
  dest_t path_probe_sample_dest;
  logic [47:0] path_probe_sample_at;
  logic path_probe_missed_valid;
  logic path_probe_due_we;
  logic [31:0] path_probe_due_waddr;
  logic [64:0] path_probe_due_wdata;
  logic path_probe_due_re;
  logic [31:0] path_probe_due_raddr;
  logic path_probe_at_we;
  logic [31:0] path_probe_at_waddr;
  logic [47:0] path_probe_at_wdata;
  logic path_probe_at_re;
  logic [31:0] path_probe_at_raddr;
  logic [64:0] path_probe_due_rdata;
  logic [47:0] path_probe_at_rdata;

  // From tx_scheduler
  logic tx_scheduler_post_ready;
  logic tx_scheduler_ack_ready;
  logic tx_scheduler_drop_ready;
  logic tx_scheduler_wait_ready;
  logic tx_scheduler_ask_valid;
  qp_t tx_scheduler_ask_qp;
  psn_t tx_scheduler_ask_from;
  logic tx_scheduler_ask_copy;
  logic tx_scheduler_end_valid;
  logic tx_scheduler_end_take;
  logic tx_scheduler_copy_done;
  logic tx_scheduler_try_valid;
  group_t tx_scheduler_try_group;
  len_t tx_scheduler_try_bytes;
  logic tx_scheduler_try_commit;
  logic tx_scheduler_room_ready;
  logic tx_scheduler_room_rsp_valid;
  logic tx_scheduler_room_rsp_ok;
  logic tx_scheduler_resv_valid;
  len_t tx_scheduler_resv_bytes;
  logic tx_scheduler_take_valid;
  logic tx_scheduler_give_valid;
  logic tx_scheduler_commit_ready;
  logic tx_scheduler_slot_ready;
  logic tx_scheduler_seg_valid;
  segment_t tx_scheduler_seg;
  logic tx_scheduler_sent_valid;
  qp_t tx_scheduler_sent_qp;
  msg_t tx_scheduler_sent_msg;
  slot_t tx_scheduler_sent_slot;
  psn_t tx_scheduler_sent_psn;
  psn_t tx_scheduler_sent_first;
  logic tx_scheduler_passing;
  logic tx_scheduler_stall_slots;
  logic tx_scheduler_stall_tags;
  logic tx_scheduler_qctx_we;
  logic [31:0] tx_scheduler_qctx_waddr;
  qctx_t tx_scheduler_qctx_wdata;
  logic tx_scheduler_qctx_re;
  logic [31:0] tx_scheduler_qctx_raddr;
  logic tx_scheduler_smsg_we;
  logic [31:0] tx_scheduler_smsg_waddr;
  smsg_t tx_scheduler_smsg_wdata;
  logic tx_scheduler_smsg_re;
  logic [31:0] tx_scheduler_smsg_raddr;
  logic tx_scheduler_work_we;
  logic [31:0] tx_scheduler_work_waddr;
  work_t tx_scheduler_work_wdata;
  logic tx_scheduler_work_re;
  logic [31:0] tx_scheduler_work_raddr;
  qctx_t tx_scheduler_qctx_rdata;
  smsg_t tx_scheduler_smsg_rdata;
  work_t tx_scheduler_work_rdata;

  // From replay_store
  logic replay_store_slot_valid;
  slot_t replay_store_slot;
  logic replay_store_build_ready;
  logic replay_store_look_ready;
  logic replay_store_look_rsp_valid;
  logic replay_store_look_rsp_hit;
  slot_t replay_store_look_rsp_slot;
  record_t replay_store_look_rsp;
  logic [15:0] replay_store_look_rsp_port;
  logic replay_store_final_ready;
  logic replay_store_toss_ready;
  logic replay_store_sent_valid;
  slot_t replay_store_sent_slot;
  logic [10:0] replay_store_used;
  logic replay_store_map_we;
  logic [31:0] replay_store_map_waddr;
  logic [9:0] replay_store_map_wdata;
  logic replay_store_map_re;
  logic [31:0] replay_store_map_raddr;
  logic replay_store_rec_we;
  logic [31:0] replay_store_rec_waddr;
  record_t replay_store_rec_wdata;
  logic replay_store_rec_re;
  logic [31:0] replay_store_rec_raddr;
  logic replay_store_path_we;
  logic [31:0] replay_store_path_waddr;
  logic [15:0] replay_store_path_wdata;
  logic replay_store_path_re;
  logic [31:0] replay_store_path_raddr;
  logic replay_store_fl_we;
  logic [31:0] replay_store_fl_waddr;
  logic [9:0] replay_store_fl_wdata;
  logic replay_store_fl_re;
  logic [31:0] replay_store_fl_raddr;
  logic [9:0] replay_store_map_rdata;
  record_t replay_store_rec_rdata;
  logic [15:0] replay_store_path_rdata;
  logic [9:0] replay_store_fl_rdata;

  // From retransmit
  logic retransmit_retire_ready;
  logic retransmit_retire_rsp_valid;
  len_t retransmit_retire_rsp_len;
  group_t retransmit_retire_rsp_group;
  logic retransmit_retire_rsp_last;
  logic retransmit_retire_rsp_flight;
  logic [7:0] retransmit_retire_rsp_sent;
  logic [47:0] retransmit_retire_rsp_at;
  logic [7:0] retransmit_lose_rsp_sent;
  logic [47:0] retransmit_lose_rsp_at;
  logic [15:0] retransmit_retire_rsp_port;
  logic retransmit_lose_ready;
  logic retransmit_lose_rsp_valid;
  logic retransmit_lose_rsp_queued;
  logic retransmit_lose_rsp_fatal;
  logic retransmit_look_valid;
  look_e retransmit_look_op;
  qp_t retransmit_look_qp;
  psn_t retransmit_look_psn;
  slot_t retransmit_look_slot;
  logic retransmit_look_discard;
  logic retransmit_hold_valid;
  slot_t retransmit_hold_slot;
  logic retransmit_copying;
  logic retransmit_arm_valid;
  slot_t retransmit_arm_slot;
  logic [7:0] retransmit_arm_gen;
  micros_t retransmit_arm_start;
  micros_t retransmit_arm_span;
  logic retransmit_cancel_valid;
  slot_t retransmit_cancel_slot;
  logic retransmit_exp_ready;
  logic retransmit_map_valid;
  bitmap_e retransmit_map_op;
  qp_t retransmit_map_qp;
  psn_t retransmit_map_psn;
  psn_t retransmit_map_end;
  logic retransmit_loss_valid;
  group_t retransmit_loss_group;
  len_t retransmit_loss_bytes;
  logic retransmit_loss_shrink;
  logic retransmit_wait_valid;
  qp_t retransmit_wait_qp;
  group_t retransmit_wait_group;
  logic retransmit_ask_ready;
  logic retransmit_offer_valid;
  logic retransmit_offer_hit;
  len_t retransmit_offer_len;
  logic retransmit_offer_more;
  logic retransmit_again_valid;
  segment_t retransmit_again;
  logic retransmit_bad_valid;
  dest_t retransmit_bad_dest;
  logic [15:0] retransmit_bad_port;
  logic retransmit_fail_valid;
  qp_t retransmit_fail_qp;
  logic retransmit_queued_valid;
  qp_t retransmit_queued_qp;
  psn_t retransmit_queued_psn;
  cause_e retransmit_queued_cause;
  logic retransmit_tim_we;
  logic [31:0] retransmit_tim_waddr;
  timer_t retransmit_tim_wdata;
  logic retransmit_tims_re;
  logic [31:0] retransmit_tims_raddr;
  logic retransmit_tim_re;
  logic [31:0] retransmit_tim_raddr;
  logic retransmit_at_we;
  logic [31:0] retransmit_at_waddr;
  logic [47:0] retransmit_at_wdata;
  logic retransmit_at_re;
  logic [31:0] retransmit_at_raddr;
  timer_t retransmit_tims_rdata;
  timer_t retransmit_tim_rdata;
  logic [47:0] retransmit_at_rdata;

  // From timer_wheel
  micros_t timer_wheel_now;
  logic timer_wheel_exp_valid;
  slot_t timer_wheel_exp_slot;
  logic [7:0] timer_wheel_exp_gen;
  micros_t timer_wheel_exp_tick;
  logic [10:0] timer_wheel_running;
  logic timer_wheel_rec_we;
  logic [31:0] timer_wheel_rec_waddr;
  logic [55:0] timer_wheel_rec_wdata;
  logic timer_wheel_rec_re;
  logic [31:0] timer_wheel_rec_raddr;
  logic timer_wheel_spoke_we;
  logic [31:0] timer_wheel_spoke_waddr;
  logic [1023:0] timer_wheel_spoke_wdata;
  logic timer_wheel_spoke_re;
  logic [31:0] timer_wheel_spoke_raddr;
  logic [55:0] timer_wheel_rec_rdata;
  logic [1023:0] timer_wheel_spoke_rdata;

  // From ask_wheel
  micros_t ask_wheel_now;
  logic ask_wheel_exp_valid;
  msg_t ask_wheel_exp_slot;
  logic [7:0] ask_wheel_exp_gen;
  micros_t ask_wheel_exp_tick;
  logic [10:0] ask_wheel_running;
  logic ask_wheel_rec_we;
  logic [31:0] ask_wheel_rec_waddr;
  logic [55:0] ask_wheel_rec_wdata;
  logic ask_wheel_rec_re;
  logic [31:0] ask_wheel_rec_raddr;
  logic ask_wheel_spoke_we;
  logic [31:0] ask_wheel_spoke_waddr;
  logic [1023:0] ask_wheel_spoke_wdata;
  logic ask_wheel_spoke_re;
  logic [31:0] ask_wheel_spoke_raddr;
  logic [55:0] ask_wheel_rec_rdata;
  logic [1023:0] ask_wheel_spoke_rdata;

  // From ack_ask
  logic ack_ask_arm_valid;
  msg_t ack_ask_arm_slot;
  micros_t ack_ask_arm_start;
  micros_t ack_ask_arm_span;
  logic ack_ask_cancel_valid;
  msg_t ack_ask_cancel_slot;
  logic ack_ask_exp_ready;
  logic ack_ask_check_valid;
  qp_t ack_ask_check_qp;
  psn_t ack_ask_check_first;
  psn_t ack_ask_check_last;
  logic ack_ask_copy_valid;
  logic ack_ask_copy_live;
  slot_t ack_ask_copy_slot;
  logic ack_ask_node_we;
  logic [31:0] ack_ask_node_waddr;
  logic [65:0] ack_ask_node_wdata;
  logic ack_ask_node_re;
  logic [31:0] ack_ask_node_raddr;
  logic [65:0] ack_ask_node_rdata;

  // From waits
  logic waits_req_ready;
  logic waits_rsp_valid;
  logic waits_rsp_hit;
  psn_t waits_rsp_psn;
  logic [63:0] waits_rsp_bits;
  logic [10:0] waits_rsp_far;
  logic waits_rsp_asked;
  logic waits_rsp_more;
  logic waits_bits_we;
  logic [31:0] waits_bits_waddr;
  logic [63:0] waits_bits_wdata;
  logic waits_bits_re;
  logic [31:0] waits_bits_raddr;
  logic waits_mark_we;
  logic [31:0] waits_mark_waddr;
  marks_t waits_mark_wdata;
  logic waits_mark_re;
  logic [31:0] waits_mark_raddr;
  logic waits_any_we;
  logic [31:0] waits_any_waddr;
  logic [15:0] waits_any_wdata;
  logic waits_any_re;
  logic [31:0] waits_any_raddr;
  logic [63:0] waits_bits_rdata;
  logic [15:0] waits_any_rdata;

  // From payload_fetch
  logic payload_fetch_seg_ready;
  logic payload_fetch_rd_valid;
  logic [63:0] payload_fetch_rd_addr;
  logic [12:0] payload_fetch_rd_len;
  tag_t payload_fetch_rd_tag;
  logic [1:0] payload_fetch_bank_we;
  logic [31:0] payload_fetch_bank_waddr;
  word_t payload_fetch_bank_wdata;
  logic payload_fetch_ord_valid;
  segment_t payload_fetch_ord;
  logic payload_fetch_head_ready;
  logic payload_fetch_hand_valid;
  segment_t payload_fetch_hand;
  logic payload_fetch_commit_valid;
  logic payload_fetch_tagr_we;
  logic [31:0] payload_fetch_tagr_waddr;
  logic [37:0] payload_fetch_tagr_wdata;
  logic payload_fetch_tagr_re;
  logic [31:0] payload_fetch_tagr_raddr;
  logic [8:0] payload_fetch_tags_free;
  logic payload_fetch_bad_valid;
  logic [2:0] payload_fetch_bad_reason;
  logic payload_fetch_failed_valid;
  segment_t payload_fetch_failed;
  logic [2:0] payload_fetch_failed_reason;
  word_t replay0_rdata;
  word_t replay1_rdata;
  logic [37:0] payload_fetch_tagr_rdata;

  // From prefetch_pool
  bytes_t prefetch_pool_free;
  logic prefetch_pool_half_valid;
  bytes_t prefetch_pool_occ;

  // From order_fifo
  logic order_fifo_in_ready;
  logic order_fifo_out_valid;
  segment_t order_fifo_out_data;
  logic order_fifo_ram_we;
  logic [31:0] order_fifo_ram_waddr;
  segment_t order_fifo_ram_wdata;
  logic order_fifo_ram_re;
  logic [31:0] order_fifo_ram_raddr;
  logic [31:0] order_fifo_level;
  segment_t order_fifo_ram_rdata;

  // From tlp_engine
  logic tlp_engine_rd_ready;
  logic tlp_engine_wr_ready;
  logic tlp_engine_cqe_ready;
  logic tlp_engine_tx_valid;
  logic tlp_engine_tx_first;
  logic tlp_engine_tx_last;
  logic [1:0] tlp_engine_tx_kind;
  logic [127:0] tlp_engine_tx_hdr;
  logic [9:0] tlp_engine_tx_dws;
  logic [12:0] tlp_engine_tx_cost;
  word_t tlp_engine_tx_data;

  // From pcie_link
  logic pcie_link_tx_ready;
  logic [27:0] pcie_link_tx_free;
  logic pcie_link_buf_we;
  logic [31:0] pcie_link_buf_waddr;
  beat_t pcie_link_buf_wdata;
  logic pcie_link_buf_re;
  logic [31:0] pcie_link_buf_raddr;
  logic pcie_link_rpush_valid;
  logic [150:0] pcie_link_rpush;
  logic pcie_link_rhead_ready;
  logic pcie_link_wpush_valid;
  logic [150:0] pcie_link_wpush;
  logic pcie_link_whead_ready;
  logic pcie_link_cpush_valid;
  logic [399:0] pcie_link_cpush;
  logic pcie_link_chead_ready;
  logic pcie_link_tlp_valid;
  logic pcie_link_tlp_sop;
  logic pcie_link_tlp_eop;
  logic [127:0] pcie_link_tlp_hdr;
  logic [7:0] pcie_link_tlp_dws;
  beat_t pcie_link_tlp_data;
  logic [19:0] pcie_link_tlp_back;
  logic pcie_link_sent_valid;
  logic [1:0] pcie_link_sent_kind;
  logic pcie_link_cqe_valid;
  logic [127:0] pcie_link_cqe_hdr;
  logic [255:0] pcie_link_cqe_data;
  beat_t pcie_link_buf_rdata;

  // From pcie_reads
  logic pcie_reads_in_ready;
  logic pcie_reads_out_valid;
  logic [150:0] pcie_reads_out_data;
  logic pcie_reads_ram_we;
  logic [31:0] pcie_reads_ram_waddr;
  logic [150:0] pcie_reads_ram_wdata;
  logic pcie_reads_ram_re;
  logic [31:0] pcie_reads_ram_raddr;
  logic [31:0] pcie_reads_level;
  logic [150:0] pcie_reads_ram_rdata;

  // From pcie_writes
  logic pcie_writes_in_ready;
  logic pcie_writes_out_valid;
  logic [150:0] pcie_writes_out_data;
  logic pcie_writes_ram_we;
  logic [31:0] pcie_writes_ram_waddr;
  logic [150:0] pcie_writes_ram_wdata;
  logic pcie_writes_ram_re;
  logic [31:0] pcie_writes_ram_raddr;
  logic [31:0] pcie_writes_level;
  logic [150:0] pcie_writes_ram_rdata;

  // From pcie_cqes
  logic pcie_cqes_in_ready;
  logic pcie_cqes_out_valid;
  logic [399:0] pcie_cqes_out_data;
  logic pcie_cqes_ram_we;
  logic [31:0] pcie_cqes_ram_waddr;
  logic [399:0] pcie_cqes_ram_wdata;
  logic pcie_cqes_ram_re;
  logic [31:0] pcie_cqes_ram_raddr;
  logic [31:0] pcie_cqes_level;
  logic [399:0] pcie_cqes_ram_rdata;

  // From packet_build
  logic packet_build_probe_ready;
  logic packet_build_building_valid;
  qp_t packet_build_building_qp;
  psn_t packet_build_building_psn;
  logic packet_build_hand_ready;
  logic packet_build_again_ready;
  logic packet_build_query_valid;
  group_t packet_build_query_group;
  logic packet_build_data_valid;
  dest_t packet_build_data_dest;
  logic packet_build_build_valid;
  qp_t packet_build_build_qp;
  psn_t packet_build_build_psn;
  logic packet_build_build_again;
  logic packet_build_rec_valid;
  segment_t packet_build_rec;
  logic packet_build_frame_valid;
  frame_t packet_build_frame;
  logic packet_build_built_valid;
  qp_t packet_build_built_qp;
  psn_t packet_build_built_psn;
  logic packet_build_built_ack_req;
  logic packet_build_made_valid;
  slot_t packet_build_made_slot;
  logic [15:0] packet_build_made_port;
  logic packet_build_made_again;

  // From dat_queue
  logic dat_queue_in_ready;
  logic dat_queue_out_valid;
  frame_t dat_queue_out_data;
  logic dat_queue_ram_we;
  logic [31:0] dat_queue_ram_waddr;
  frame_t dat_queue_ram_wdata;
  logic dat_queue_ram_re;
  logic [31:0] dat_queue_ram_raddr;
  logic [31:0] dat_queue_level;
  frame_t dat_queue_ram_rdata;

  // From ctl_queue
  logic ctl_queue_in_ready;
  logic ctl_queue_out_valid;
  frame_t ctl_queue_out_data;
  logic ctl_queue_ram_we;
  logic [31:0] ctl_queue_ram_waddr;
  frame_t ctl_queue_ram_wdata;
  logic ctl_queue_ram_re;
  logic [31:0] ctl_queue_ram_raddr;
  logic [31:0] ctl_queue_level;
  frame_t ctl_queue_ram_rdata;

  // From egress_arbiter
  logic egress_arbiter_pfc_ready;
  logic [7:0] egress_arbiter_cls_ready;
  logic egress_arbiter_tx_valid;
  frame_t egress_arbiter_tx;
  logic [3:0] egress_arbiter_tx_cls;
  logic egress_arbiter_end_valid;
  rate_t egress_arbiter_end_back;
  len_t egress_arbiter_end_len;
  logic egress_arbiter_end_data;
  slot_t egress_arbiter_end_slot;
  logic [3:0] egress_arbiter_end_cls;
  bytes_t egress_arbiter_egress_free;
  bytes_t egress_arbiter_ctl_free;
  logic egress_arbiter_half_valid;
  logic [255:0] egress_arbiter_occ;

  // From port_tx
  logic [1:0] port_tx_bank_re;
  logic [31:0] port_tx_bank_raddr0;
  logic [31:0] port_tx_bank_raddr1;
  logic port_tx_wire_valid;
  logic port_tx_wire_sop;
  logic port_tx_wire_eop;
  logic [7:0] port_tx_wire_bytes;
  beat_t port_tx_wire_data;
  rate_t port_tx_wire_back;
  logic port_tx_gone_valid;
  logic port_tx_gone_data;
  slot_t port_tx_gone_slot;

  // From port_rx
  logic port_rx_word_valid;
  word_t port_rx_word_data;
  logic port_rx_frame_valid;
  logic [831:0] port_rx_frame_hdr;
  len_t port_rx_frame_len;
  logic port_rx_frame_fcs_ok;
  logic port_rx_frame_icrc_ok;
  logic [7:0] port_rx_frame_words;
  micros_t port_rx_frame_at;

  // From packet_parse
  logic packet_parse_out_valid;
  parsed_t packet_parse_out;
  logic [2:0] packet_parse_out_cls;
  drop_e packet_parse_out_drop;
  logic [7:0] packet_parse_out_words;
  logic packet_parse_pfc_valid;
  logic [7:0] packet_parse_pfc_classes;
  logic [127:0] packet_parse_pfc_quanta;

  // From pause_hold
  logic [7:0] pause_hold_paused;

  // From ingress_pool
  logic ingress_pool_ring_we;
  logic [31:0] ingress_pool_ring_waddr;
  word_t ingress_pool_ring_wdata;
  logic ingress_pool_dat_valid;
  parsed_t ingress_pool_dat;
  logic ingress_pool_ctl_valid;
  parsed_t ingress_pool_ctl;
  logic ingress_pool_drop_valid;
  drop_e ingress_pool_drop_reason;
  logic [255:0] ingress_pool_occ;
  logic ingress_pool_arr_valid;
  logic [2:0] ingress_pool_arr_cls;
  bytes_t ingress_pool_arr_occ;
  logic [7:0] ingress_pool_rel_cls;
  word_t ingress_ring_rdata;

  // From pause_send
  logic pause_send_frame_valid;
  frame_t pause_send_frame;
  logic [7:0] pause_send_xoff;
  logic [7:0] pause_send_xon;

  // From dat_fifo
  logic dat_fifo_in_ready;
  logic dat_fifo_out_valid;
  parsed_t dat_fifo_out_data;
  logic dat_fifo_ram_we;
  logic [31:0] dat_fifo_ram_waddr;
  parsed_t dat_fifo_ram_wdata;
  logic dat_fifo_ram_re;
  logic [31:0] dat_fifo_ram_raddr;
  logic [31:0] dat_fifo_level;
  parsed_t dat_fifo_ram_rdata;

  // From ctl_fifo
  logic ctl_fifo_in_ready;
  logic ctl_fifo_out_valid;
  parsed_t ctl_fifo_out_data;
  logic ctl_fifo_ram_we;
  logic [31:0] ctl_fifo_ram_waddr;
  parsed_t ctl_fifo_ram_wdata;
  logic ctl_fifo_ram_re;
  logic [31:0] ctl_fifo_ram_raddr;
  logic [31:0] ctl_fifo_level;
  parsed_t ctl_fifo_ram_rdata;

  // From rx_track
  logic rx_track_in_ready;
  logic rx_track_peer_we;
  logic [31:0] rx_track_peer_waddr;
  logic [25:0] rx_track_peer_wdata;
  logic rx_track_peer_re;
  logic [31:0] rx_track_peer_raddr;
  logic rx_track_rctx_we;
  logic [31:0] rx_track_rctx_waddr;
  logic [189:0] rx_track_rctx_wdata;
  logic rx_track_rctx_re;
  logic [31:0] rx_track_rctx_raddr;
  logic rx_track_ends_we;
  logic [31:0] rx_track_ends_waddr;
  logic [47:0] rx_track_ends_wdata;
  logic rx_track_ends_re;
  logic [31:0] rx_track_ends_raddr;
  logic rx_track_map_valid;
  bitmap_e rx_track_map_op;
  qp_t rx_track_map_qp;
  psn_t rx_track_map_psn;
  psn_t rx_track_map_low;
  psn_t rx_track_map_walk;
  logic rx_track_map_last;
  logic rx_track_map_asked;
  logic rx_track_map_rsp_ready;
  logic rx_track_deliver_valid;
  delivery_t rx_track_deliver;
  logic rx_track_answer_valid;
  answer_t rx_track_answer;
  logic rx_track_close_ready;
  logic rx_track_drop_valid;
  drop_e rx_track_drop_reason;
  logic rx_track_recv_valid;
  qpn_t rx_track_recv_qpn;
  logic [15:0] rx_track_recv_msn;
  logic rx_track_created_valid;
  qpn_t rx_track_created_qpn;
  dest_t rx_track_created_dest;
  logic rx_track_closed_valid;
  qpn_t rx_track_closed_qpn;
  dest_t rx_track_closed_dest;
  logic rx_track_dup_valid;
  logic rx_track_ooo_valid;
  logic [1:0] rx_track_ctrl_drops;
  logic rx_track_rel2_valid;
  len_t rx_track_rel2_bytes;
  logic rx_track_relt_valid;
  len_t rx_track_relt_bytes;
  logic [25:0] rx_track_peer_rdata;
  logic [189:0] rx_track_rctx_rdata;
  logic [47:0] rx_track_ends_rdata;

  // From rx_bitmap
  logic rx_bitmap_req_ready;
  logic rx_bitmap_rsp_valid;
  logic rx_bitmap_rsp_hit;
  psn_t rx_bitmap_rsp_psn;
  logic [63:0] rx_bitmap_rsp_bits;
  logic [10:0] rx_bitmap_rsp_far;
  logic rx_bitmap_rsp_asked;
  logic rx_bitmap_rsp_more;
  logic rx_bitmap_bits_we;
  logic [31:0] rx_bitmap_bits_waddr;
  logic [63:0] rx_bitmap_bits_wdata;
  logic rx_bitmap_bits_re;
  logic [31:0] rx_bitmap_bits_raddr;
  logic [63:0] rx_bitmap_bits_rdata;
  logic rx_bitmap_mark_we;
  logic [31:0] rx_bitmap_mark_waddr;
  marks_t rx_bitmap_mark_wdata;
  logic rx_bitmap_mark_re;
  logic [31:0] rx_bitmap_mark_raddr;
  marks_t rx_bitmap_mark_rdata;
  logic rx_bitmap_any_we;
  logic [31:0] rx_bitmap_any_waddr;
  logic [15:0] rx_bitmap_any_wdata;
  logic rx_bitmap_any_re;
  logic [31:0] rx_bitmap_any_raddr;
  logic [15:0] rx_bitmap_any_rdata;

  // From deliver_fifo
  logic deliver_fifo_in_ready;
  logic deliver_fifo_out_valid;
  delivery_t deliver_fifo_out_data;
  logic deliver_fifo_ram_we;
  logic [31:0] deliver_fifo_ram_waddr;
  delivery_t deliver_fifo_ram_wdata;
  logic deliver_fifo_ram_re;
  logic [31:0] deliver_fifo_ram_raddr;
  logic [31:0] deliver_fifo_level;
  delivery_t deliver_fifo_ram_rdata;

  // From payload_write
  logic payload_write_in_ready;
  logic payload_write_ring_re;
  logic [31:0] payload_write_ring_raddr;
  logic payload_write_wr_valid;
  logic payload_write_wr_first;
  logic payload_write_wr_last;
  logic [63:0] payload_write_wr_addr;
  logic [9:0] payload_write_wr_len;
  word_t payload_write_wr_data;
  logic payload_write_rel_valid;
  len_t payload_write_rel_bytes;
  logic payload_write_free_valid;
  logic [7:0] payload_write_free_words;
  logic payload_write_comp_valid;
  qpn_t payload_write_comp_qpn;
  logic [15:0] payload_write_comp_msn;
  bytes_t payload_write_comp_len;
  dest_t payload_write_comp_dest;

  // From answer_fifo
  logic answer_fifo_in_ready;
  logic answer_fifo_out_valid;
  reply_t answer_fifo_out_data;
  logic answer_fifo_ram_we;
  logic [31:0] answer_fifo_ram_waddr;
  reply_t answer_fifo_ram_wdata;
  logic answer_fifo_ram_re;
  logic [31:0] answer_fifo_ram_raddr;
  logic [31:0] answer_fifo_level;
  reply_t answer_fifo_ram_rdata;

  // From nack_fifo
  logic nack_fifo_in_ready;
  logic nack_fifo_out_valid;
  reply_t nack_fifo_out_data;
  logic nack_fifo_ram_we;
  logic [31:0] nack_fifo_ram_waddr;
  reply_t nack_fifo_ram_wdata;
  logic nack_fifo_ram_re;
  logic [31:0] nack_fifo_ram_raddr;
  logic [31:0] nack_fifo_level;
  reply_t nack_fifo_ram_rdata;

  // From ack_hold
  logic ack_hold_in_ready;
  logic ack_hold_held_valid;
  logic ack_hold_nack_valid;
  reply_t ack_hold_stamped;
  logic ack_hold_head_ready;
  logic ack_hold_nhead_ready;
  logic ack_hold_out_valid;
  reply_t ack_hold_out;

  // From ack_build
  logic ack_build_answer_ready;
  logic ack_build_ack_valid;
  dest_t ack_build_ack_dest;
  logic ack_build_cresv_valid;
  len_t ack_build_cresv_bytes;
  logic ack_build_frame_valid;
  frame_t ack_build_frame;

  // From ack_take
  logic ack_take_in_ready;
  logic ack_take_purge_ready;
  logic ack_take_purge_done;
  logic ack_take_check_ready;
  logic ack_take_check_rsp_valid;
  logic ack_take_check_rsp_clear;
  logic ack_take_spent_valid;
  qp_t ack_take_spent_qp;
  logic ack_take_built_ready;
  logic ack_take_map_valid;
  bitmap_e ack_take_map_op;
  qp_t ack_take_map_qp;
  psn_t ack_take_map_psn;
  psn_t ack_take_map_end;
  logic ack_take_map_rsp_ready;
  logic ack_take_upd_recovers;
  psn_t ack_take_upd_recover;
  logic ack_take_lose_valid;
  qp_t ack_take_lose_qp;
  psn_t ack_take_lose_psn;
  cause_e ack_take_lose_cause;
  logic ack_take_probed_valid;
  logic [15:0] ack_take_probed_id;
  logic ack_take_probed_good;
  logic rtt_sample_sample_valid;
  origin_e rtt_sample_sample_origin;
  group_t rtt_sample_sample_group;
  dest_t rtt_sample_sample_dest;
  logic [47:0] rtt_sample_sample_rtt;
  logic rtt_sample_unsure_valid;
  logic ack_take_timed_valid;
  logic ack_take_timed_nack;
  logic [7:0] ack_take_timed_sent;
  logic [47:0] ack_take_timed_at;
  group_t ack_take_timed_group;
  logic [47:0] ack_take_timed_arrived;
  logic ack_take_timed_rtx;
  logic ack_take_timed_stamped;
  logic [15:0] ack_take_timed_word;
  logic ack_take_skip_valid;
  dest_t ack_take_skip_dest;
  logic [15:0] ack_take_skip_port;

  // From built_fifo
  logic built_fifo_in_ready;
  logic built_fifo_out_valid;
  logic [31:0] built_fifo_out_data;
  logic built_fifo_ram_we;
  logic [31:0] built_fifo_ram_waddr;
  logic [31:0] built_fifo_ram_wdata;
  logic built_fifo_ram_re;
  logic [31:0] built_fifo_ram_raddr;
  logic [31:0] built_fifo_level;
  logic [31:0] built_fifo_ram_rdata;

  // From sent_bitmap
  logic sent_bitmap_req_ready;
  logic sent_bitmap_rsp_valid;
  logic sent_bitmap_rsp_hit;
  psn_t sent_bitmap_rsp_psn;
  logic [63:0] sent_bitmap_rsp_bits;
  logic [10:0] sent_bitmap_rsp_far;
  logic sent_bitmap_rsp_asked;
  logic sent_bitmap_rsp_more;
  logic sent_bitmap_bits_we;
  logic [31:0] sent_bitmap_bits_waddr;
  logic [63:0] sent_bitmap_bits_wdata;
  logic sent_bitmap_bits_re;
  logic [31:0] sent_bitmap_bits_raddr;
  logic [63:0] sent_bitmap_bits_rdata;
  logic sent_bitmap_mark_we;
  logic [31:0] sent_bitmap_mark_waddr;
  marks_t sent_bitmap_mark_wdata;
  logic sent_bitmap_mark_re;
  logic [31:0] sent_bitmap_mark_raddr;
  logic sent_bitmap_any_we;
  logic [31:0] sent_bitmap_any_waddr;
  logic [15:0] sent_bitmap_any_wdata;
  logic sent_bitmap_any_re;
  logic [31:0] sent_bitmap_any_raddr;
  logic [15:0] sent_bitmap_any_rdata;
  logic ack_take_work_valid;
  qp_t ack_take_work_qp;
  logic ack_take_find_valid;
  qpn_t ack_take_find_qpn;
  logic [31:0] ack_take_find_dest_ip;
  logic ack_take_find_bare;
  logic ack_take_upd_valid;
  qp_t ack_take_upd_qp;
  psn_t ack_take_upd_cum;
  logic ack_take_upd_learn;
  qpn_t ack_take_upd_remote;
  logic ack_take_retire_valid;
  qp_t ack_take_retire_qp;
  psn_t ack_take_retire_psn;
  logic ack_take_retire_discard;
  logic ack_take_sub_valid;
  group_t ack_take_sub_group;
  len_t ack_take_sub_bytes;
  logic ack_take_ack_valid;
  qp_t ack_take_ack_qp;
  group_t ack_take_ack_group;
  psn_t ack_take_ack_cum;
  logic ack_take_cover_valid;
  qp_t ack_take_cover_qp;
  psn_t ack_take_cover_cum;
  logic ack_take_cover_forget;
  logic ack_take_relc_valid;
  len_t ack_take_relc_bytes;
  logic ack_take_drop_valid;
  drop_e ack_take_drop_reason;
  logic ack_take_other_valid;

  // From completion
  logic completion_post_done_ready;
  logic completion_sent_ready;
  logic completion_cover_ready;
  logic completion_comp_ready;
  logic completion_err_ready;
  logic completion_left_valid;
  msg_t completion_left_msg;
  logic completion_msg_valid;
  msg_t completion_msg;
  logic completion_final_valid;
  slot_t completion_final_slot;
  logic completion_done_valid;
  qp_t completion_done_qp;
  logic completion_cqe_valid;
  logic [63:0] completion_cqe_addr;
  logic [255:0] completion_cqe_data;
  logic completion_log_valid;
  cqe_e completion_log_kind;
  qpn_t completion_log_qpn;
  logic [15:0] completion_log_msn;
  logic [31:0] completion_log_len;
  logic completion_cmsg_we;
  logic [31:0] completion_cmsg_waddr;
  logic [186:0] completion_cmsg_wdata;
  logic completion_cmsg_re;
  logic [31:0] completion_cmsg_raddr;
  logic completion_cqp_we;
  logic [31:0] completion_cqp_waddr;
  logic [30:0] completion_cqp_wdata;
  logic completion_cqp_re;
  logic [31:0] completion_cqp_raddr;
  logic completion_fl_we;
  logic [31:0] completion_fl_waddr;
  msg_t completion_fl_wdata;
  logic completion_fl_re;
  logic [31:0] completion_fl_raddr;
  logic [186:0] completion_cmsg_rdata;
  logic [30:0] completion_cqp_rdata;
  msg_t completion_fl_rdata;

  csr #(
      .PSNS (PSNS),
      .DESTS(DESTS)
  ) u_csr (
      .clk_i,
      .rst_ni,
      .wr_valid_i(doorbell_csr_valid),
      .wr_index_i(doorbell_csr_index),
      .wr_data_i(doorbell_csr_data),
      .bad_write_o(csr_bad_write),
      .cfg_mss_o(csr_cfg_mss),
      .cfg_range_o(csr_cfg_range),
      .cfg_initial_psn_o(csr_cfg_initial_psn),
      .cfg_wire_rate_o(csr_cfg_wire_rate),
      .cfg_pcie_rate_o(csr_cfg_pcie_rate),
      .cfg_own_ip_o(csr_cfg_own_ip),
      .cfg_own_mac_o(csr_cfg_own_mac),
      .cfg_hop_mac_o(csr_cfg_hop_mac),
      .cfg_cq_base_o(csr_cfg_cq_base),
      .cfg_cq_log2_o(csr_cfg_cq_log2),
      .cfg_init_window_o(csr_cfg_init_window),
      .cfg_unit_o(csr_cfg_unit),
      .cfg_groups_o(csr_cfg_groups),
      .cfg_trimming_o(csr_cfg_trimming),
      .cfg_distinct_rtx_o(csr_cfg_distinct_rtx),
      .cfg_cqe_on_link_o(csr_cfg_cqe_on_link),
      .cfg_loss_o(csr_cfg_loss),
      .cfg_icrc_o(csr_cfg_icrc),
      .cfg_stamps_o(csr_cfg_stamps),
      .cfg_sched_o(csr_cfg_sched),
      .cfg_ecn_o(csr_cfg_ecn),
      .cfg_dscp0_o(csr_cfg_dscp0),
      .cfg_dscp1_o(csr_cfg_dscp1),
      .cfg_dscp2_o(csr_cfg_dscp2),
      .cfg_dscp3_o(csr_cfg_dscp3),
      .cfg_dscp4_o(csr_cfg_dscp4),
      .cfg_dscp5_o(csr_cfg_dscp5),
      .cfg_tx_hdr_buf_o(csr_cfg_tx_hdr_buf),
      .cfg_tx_data_buf_o(csr_cfg_tx_data_buf),
      .cfg_data_hdr_o(csr_cfg_data_hdr),
      .cfg_wire_overhead_o(csr_cfg_wire_overhead),
      .cfg_nominal_overhead_o(csr_cfg_nominal_overhead),
      .cfg_charge_less_o(csr_cfg_charge_less),
      .cfg_ack_extra_o(csr_cfg_ack_extra),
      .cfg_weights_o(csr_cfg_weights),
      .cfg_rid_o(csr_cfg_rid),
      .cfg_ttl_o(csr_cfg_ttl),
      .cfg_rx_hdr_buf_o(csr_cfg_rx_hdr_buf),
      .cfg_rx_data_buf_o(csr_cfg_rx_data_buf),
      .cfg_far_hdr_buf_o(csr_cfg_far_hdr_buf),
      .cfg_far_data_buf_o(csr_cfg_far_data_buf),
      .cfg_pcie_overhead_o(csr_cfg_pcie_overhead),
      .cfg_read_request_o(csr_cfg_read_request),
      .cfg_max_payload_o(csr_cfg_max_payload),
      .cfg_timeout_o(csr_cfg_timeout),
      .cfg_linear_o(csr_cfg_linear),
      .cfg_expo_o(csr_cfg_expo),
      .cfg_fixed_o(csr_cfg_fixed),
      .cfg_peer_valid_o(csr_cfg_peer_valid),
      .cfg_peer_ip_o(csr_cfg_peer_ip),
      .cfg_egress_pool_o(csr_cfg_egress_pool),
      .cfg_ingress_pool_o(csr_cfg_ingress_pool),
      .cfg_xoff_o(csr_cfg_xoff),
      .cfg_xon_o(csr_cfg_xon),
      .cfg_quanta_o(csr_cfg_quanta),
      .cfg_pfc_enable_o(csr_cfg_pfc_enable),
      .cfg_pfc_delay_o(csr_cfg_pfc_delay),
      .cfg_penalty_low_o(csr_cfg_penalty_low),
      .cfg_penalty_high_o(csr_cfg_penalty_high),
      .cfg_ack_hold_o(csr_cfg_ack_hold),
      .cfg_prefetch_o(csr_cfg_prefetch),
      .cfg_prefetch_on_o(csr_cfg_prefetch_on)
  );

  ram_fifo #(
      .WIDTH($bits(tlp_beat_t)),
      .DEPTH(4096)
  ) u_rx_fifo (
      .clk_i,
      .rst_ni,
      .in_valid_i(rx_valid_i),
      .in_ready_o(rx_fifo_in_ready),
      .in_data_i(rx_i),
      .out_valid_o(rx_fifo_out_valid),
      .out_ready_i(tlp_parse_rx_ready),
      .out_data_o(rx_fifo_out_data),
      .ram_we_o(rx_fifo_ram_we),
      .ram_waddr_o(rx_fifo_ram_waddr),
      .ram_wdata_o(rx_fifo_ram_wdata),
      .ram_re_o(rx_fifo_ram_re),
      .ram_raddr_o(rx_fifo_ram_raddr),
      .ram_rdata_i(rx_fifo_ram_rdata),
      .level_o(rx_fifo_level)
  );

  ram_1r1w #(
      .WIDTH($bits(rx_fifo_ram_wdata)),
      .DEPTH(4096)
  ) u_rx_fifo_ram (
      .clk_i,
      .we_i(rx_fifo_ram_we),
      .waddr_i(rx_fifo_ram_waddr),
      .wdata_i(rx_fifo_ram_wdata),
      .re_i(rx_fifo_ram_re),
      .raddr_i(rx_fifo_ram_raddr),
      .rdata_o(rx_fifo_ram_rdata)
  );

  pcie_room u_pcie_room (
      .clk_i,
      .rst_ni,
      .cfg_rx_hdr_buf_i(csr_cfg_rx_hdr_buf),
      .cfg_rx_data_buf_i(csr_cfg_rx_data_buf),
      .in_valid_i(rx_valid_i),
      .in_ready_i(rx_fifo_in_ready),
      .in_sop_i(rx_i.sop),
      .in_dws_i(rx_i.dws),
      .out_valid_i(rx_fifo_out_valid),
      .out_ready_i(tlp_parse_rx_ready),
      .out_sop_i(rx_fifo_out_data.sop),
      .out_dws_i(rx_fifo_out_data.dws),
      .freed_valid_o(pcie_room_freed_valid),
      .freed_hdr_o(pcie_room_freed_hdr),
      .freed_data_o(pcie_room_freed_data),
      .over_valid_o(pcie_room_over_valid)
  );

  tlp_parse u_tlp_parse (
      .clk_i,
      .rst_ni,
      .rx_valid_i(rx_fifo_out_valid),
      .rx_ready_o(tlp_parse_rx_ready),
      .rx_sop_i(rx_fifo_out_data.sop),
      .rx_eop_i(rx_fifo_out_data.eop),
      .rx_hdr_i(rx_fifo_out_data.hdr),
      .rx_dws_i(rx_fifo_out_data.dws),
      .rx_data_i(rx_fifo_out_data.data),
      .cpl_valid_o(tlp_parse_cpl_valid),
      .cpl_tag_o(tlp_parse_cpl_tag),
      .cpl_first_o(tlp_parse_cpl_first),
      .cpl_last_o(tlp_parse_cpl_last),
      .cpl_data_o(tlp_parse_cpl_data),
      .cpl_bytes_o(tlp_parse_cpl_bytes),
      .cpl_status_o(tlp_parse_cpl_status),
      .cpl_poison_o(tlp_parse_cpl_poison),
      .cpl_count_o(tlp_parse_cpl_count),
      .cpl_lower_o(tlp_parse_cpl_lower),
      .page_valid_o(tlp_parse_page_valid),
      .page_ready_i(page_fifo_in_ready),
      .page_addr_o(tlp_parse_page_addr),
      .page_len_o(tlp_parse_page_len),
      .page_full_o(tlp_parse_page_full),
      .page_data_o(tlp_parse_page_data),
      .bad_valid_o(tlp_parse_bad_valid),
      .bad_reason_o(tlp_parse_bad_reason)
  );

  stream_fifo #(
      .WIDTH($bits(page_write_t)),
      .DEPTH(4)
  ) u_page_fifo (
      .clk_i,
      .rst_ni,
      .in_valid_i(tlp_parse_page_valid),
      .in_ready_o(page_fifo_in_ready),
      .in_data_i({
        tlp_parse_page_addr, tlp_parse_page_len, tlp_parse_page_full, tlp_parse_page_data
      }),
      .out_valid_o(page_fifo_out_valid),
      .out_ready_i(doorbell_page_ready),
      .out_data_o(page_fifo_out_data)
  );

  doorbell u_doorbell (
      .clk_i,
      .rst_ni,
      .page_valid_i(page_fifo_out_valid),
      .page_ready_o(doorbell_page_ready),
      .page_addr_i(page_fifo_out_data.addr),
      .page_len_i(page_fifo_out_data.len),
      .page_full_i(page_fifo_out_data.full),
      .page_data_i(page_fifo_out_data.data),
      .csr_valid_o(doorbell_csr_valid),
      .csr_index_o(doorbell_csr_index),
      .csr_data_o(doorbell_csr_data),
      .ring_o(doorbell_ring),
      .qp_valid_o(doorbell_qp_valid),
      .qp_ready_i(qp_table_qp_ready),
      .qp_op_o(doorbell_qp_op),
      .qp_qpn_o(doorbell_qp_qpn),
      .qp_dest_o(doorbell_qp_dest),
      .qp_rsp_valid_i(qp_table_qp_rsp_valid),
      .qp_rsp_ok_i(qp_table_qp_rsp_ok),
      .qp_rsp_full_i(qp_table_qp_rsp_full),
      .qp_rsp_failed_i(qp_table_qp_rsp_failed),
      .qp_rsp_qpn_i(qp_table_qp_rsp_qpn),
      .qp_rsp_group_i(qp_table_qp_rsp_group),
      .qp_rsp_dest_i(qp_table_qp_rsp_dest),
      .qp_rsp_msn_i(qp_table_qp_rsp_msn),
      .msg_valid_i(completion_msg_valid),
      .msg_ready_o(doorbell_msg_ready),
      .msg_i(completion_msg),
      .post_sched_valid_o(doorbell_post_sched_valid),
      .post_sched_ready_i(tx_scheduler_post_ready),
      .post_done_valid_o(doorbell_post_done_valid),
      .post_done_ready_i(completion_post_done_ready),
      .post_qp_o(doorbell_post_qp),
      .post_qpn_o(doorbell_post_qpn),
      .post_dest_o(doorbell_post_dest),
      .post_group_o(doorbell_post_group),
      .post_open_o(doorbell_post_open),
      .post_msg_o(doorbell_post_msg),
      .post_laddr_o(doorbell_post_laddr),
      .post_raddr_o(doorbell_post_raddr),
      .post_rkey_o(doorbell_post_rkey),
      .post_len_o(doorbell_post_len),
      .post_msn_o(doorbell_post_msn),
      .post_cookie_o(doorbell_post_cookie),
      .err_valid_o(doorbell_err_valid),
      .err_ready_i(completion_err_ready),
      .err_code_o(doorbell_err_code),
      .err_cookie_o(doorbell_err_cookie),
      .err_qpn_o(doorbell_err_qpn),
      .err_len_o(doorbell_err_len),
      .close_valid_o(doorbell_close_valid),
      .close_ready_i(rx_track_close_ready),
      .close_qpn_o(doorbell_close_qpn),
      .refuse_valid_o(doorbell_refuse_valid),
      .refuse_code_o(doorbell_refuse_code),
      .cfg_peer_valid_i(csr_cfg_peer_valid)
  );

  qp_table #(
      .QPS(QPS)
  ) u_qp_table (
      .clk_i,
      .rst_ni,
      .work_valid_i(ack_take_work_valid),
      .work_qp_i(ack_take_work_qp),
      .find_valid_i(ack_take_find_valid),
      .find_ready_o(qp_table_find_ready),
      .find_qpn_i(ack_take_find_qpn),
      .find_bare_i(ack_take_find_bare),
      .find_dest_ip_i(ack_take_find_dest_ip),
      .find_rsp_valid_o(qp_table_find_rsp_valid),
      .find_rsp_ok_o(qp_table_find_rsp_ok),
      .find_rsp_qp_o(qp_table_find_rsp_qp),
      .find_rsp_given_o(qp_table_find_rsp_given),
      .find_rsp_cum_o(qp_table_find_rsp_cum),
      .find_rsp_group_o(qp_table_find_rsp_group),
      .find_rsp_dest_o(qp_table_find_rsp_dest),
      .find_rsp_recovers_o(qp_table_find_rsp_recovers),
      .find_rsp_recover_o(qp_table_find_rsp_recover),
      .upd_valid_i(ack_take_upd_valid),
      .upd_ready_o(qp_table_upd_ready),
      .upd_qp_i(ack_take_upd_qp),
      .upd_cum_i(ack_take_upd_cum),
      .upd_learn_i(ack_take_upd_learn),
      .upd_remote_i(ack_take_upd_remote),
      .upd_recovers_i(ack_take_upd_recovers),
      .upd_recover_i(ack_take_upd_recover),
      .upd_done_o(qp_table_upd_done),
      .build_valid_i(packet_build_build_valid),
      .build_ready_o(qp_table_build_ready),
      .build_qp_i(packet_build_build_qp),
      .build_psn_i(packet_build_build_psn),
      .build_again_i(packet_build_build_again),
      .build_rsp_valid_o(qp_table_build_rsp_valid),
      .build_rsp_qpn_o(qp_table_build_rsp_qpn),
      .build_rsp_remote_valid_o(qp_table_build_rsp_remote_valid),
      .build_rsp_remote_o(qp_table_build_rsp_remote),
      .qp_valid_i(doorbell_qp_valid),
      .qp_ready_o(qp_table_qp_ready),
      .qp_op_i(doorbell_qp_op),
      .qp_qpn_i(doorbell_qp_qpn),
      .qp_dest_i(doorbell_qp_dest),
      .qp_rsp_valid_o(qp_table_qp_rsp_valid),
      .qp_rsp_ok_o(qp_table_qp_rsp_ok),
      .qp_rsp_full_o(qp_table_qp_rsp_full),
      .qp_rsp_failed_o(qp_table_qp_rsp_failed),
      .qp_rsp_qpn_o(qp_table_qp_rsp_qpn),
      .qp_rsp_group_o(qp_table_qp_rsp_group),
      .qp_rsp_dest_o(qp_table_qp_rsp_dest),
      .qp_rsp_msn_o(qp_table_qp_rsp_msn),
      .done_valid_i(completion_done_valid),
      .done_ready_o(qp_table_done_ready),
      .done_qp_i(completion_done_qp),
      .drain_valid_o(qp_table_drain_valid),
      .drain_qp_o(qp_table_drain_qp),
      .end_valid_i(qp_drain_end_valid),
      .end_ready_o(qp_table_end_ready),
      .end_qp_i(qp_drain_end_qp),
      .end_close_i(qp_drain_end_close),
      .end_free_i(qp_drain_end_free),
      .end_rsp_valid_o(qp_table_end_rsp_valid),
      .end_rsp_ok_o(qp_table_end_rsp_ok),
      .end_rsp_qpn_o(qp_table_end_rsp_qpn),
      .end_rsp_group_o(qp_table_end_rsp_group),
      .rx_created_valid_i(rx_track_created_valid),
      .rx_created_dest_i(rx_track_created_dest),
      .rx_closed_valid_i(rx_track_closed_valid),
      .rx_closed_dest_i(rx_track_closed_dest),
      .dead_o(qp_table_dead),
      .open_valid_o(qp_table_open_valid),
      .open_ready_i(window_open_ready),
      .open_group_o(qp_table_open_group),
      .created_valid_o(qp_table_created_valid),
      .created_qpn_o(qp_table_created_qpn),
      .created_dest_o(qp_table_created_dest),
      .closed_valid_o(qp_table_closed_valid),
      .closed_qpn_o(qp_table_closed_qpn),
      .ctx_we_o(qp_table_ctx_we),
      .ctx_waddr_o(qp_table_ctx_waddr),
      .ctx_wdata_o(qp_table_ctx_wdata),
      .ctx_re_o(qp_table_ctx_re),
      .ctx_raddr_o(qp_table_ctx_raddr),
      .ctx_rdata_i(qp_table_ctx_rdata),
      .cfg_initial_psn_i(csr_cfg_initial_psn),
      .cfg_groups_i(csr_cfg_groups),
      .cfg_peer_ip_i(csr_cfg_peer_ip)
  );

  ram_1r1w #(
      .WIDTH($bits(qp_table_ctx_wdata)),
      .DEPTH(QPS)
  ) u_qp_table_ctx (
      .clk_i,
      .we_i(qp_table_ctx_we),
      .waddr_i(qp_table_ctx_waddr),
      .wdata_i(qp_table_ctx_wdata),
      .re_i(qp_table_ctx_re),
      .raddr_i(qp_table_ctx_raddr),
      .rdata_o(qp_table_ctx_rdata)
  );

  qp_drain #(
      .QPS(QPS)
  ) u_qp_drain (
      .clk_i,
      .rst_ni,
      .failed_valid_i(payload_fetch_failed_valid),
      .failed_ready_o(qp_drain_failed_ready),
      .failed_i(payload_fetch_failed),
      .failed_reason_i(payload_fetch_failed_reason),
      .fail_valid_i(retransmit_fail_valid),
      .fail_ready_o(qp_drain_fail_ready),
      .fail_qp_i(retransmit_fail_qp),
      .fail_why_i(WhyTimeout),
      .spent_valid_i(ack_take_spent_valid),
      .spent_qp_i(ack_take_spent_qp),
      .drain_valid_i(qp_table_drain_valid),
      .drain_qp_i(qp_table_drain_qp),
      .end_valid_o(qp_drain_end_valid),
      .end_ready_i(qp_table_end_ready),
      .end_qp_o(qp_drain_end_qp),
      .end_close_o(qp_drain_end_close),
      .end_free_o(qp_drain_end_free),
      .end_rsp_valid_i(qp_table_end_rsp_valid),
      .end_rsp_ok_i(qp_table_end_rsp_ok),
      .end_rsp_qpn_i(qp_table_end_rsp_qpn),
      .end_rsp_group_i(qp_table_end_rsp_group),
      .post_sched_valid_i(doorbell_post_sched_valid),
      .post_done_valid_i(doorbell_post_done_valid),
      .post_qp_i(doorbell_post_qp),
      .drop_valid_o(qp_drain_drop_valid),
      .drop_ready_i(tx_scheduler_drop_ready),
      .drop_qp_o(qp_drain_drop_qp),
      .drop_group_o(qp_drain_drop_group),
      .seg_valid_i(tx_scheduler_seg_valid),
      .seg_ready_i(payload_fetch_seg_ready),
      .seg_i(tx_scheduler_seg),
      .hand_valid_i(payload_fetch_hand_valid),
      .hand_ready_i(packet_build_hand_ready),
      .hand_i(payload_fetch_hand),
      .built_valid_i(packet_build_built_valid),
      .purge_valid_o(qp_drain_purge_valid),
      .purge_ready_i(ack_take_purge_ready),
      .purge_qp_o(qp_drain_purge_qp),
      .purge_done_i(ack_take_purge_done),
      .toss_valid_o(qp_drain_toss_valid),
      .toss_ready_i(replay_store_toss_ready),
      .toss_slot_o(qp_drain_toss_slot),
      .flight_valid_o(qp_drain_flight_valid),
      .flight_ready_i(window_toss_ready),
      .flight_group_o(qp_drain_flight_group),
      .flight_bytes_o(qp_drain_flight_bytes),
      .unresv_valid_o(qp_drain_unresv_valid),
      .unfetch_valid_o(qp_drain_unfetch_valid),
      .unresv_bytes_o(qp_drain_unresv_bytes),
      .error_valid_o(qp_drain_error_valid),
      .error_qpn_o(qp_drain_error_qpn),
      .error_why_o(qp_drain_error_why),
      .cfg_wire_overhead_i(csr_cfg_wire_overhead),
      .cfg_nominal_overhead_i(csr_cfg_nominal_overhead),
      .cfg_prefetch_on_i(csr_cfg_prefetch_on)
  );

  window u_window (
      .clk_i,
      .rst_ni,
      .cfg_init_window_i(csr_cfg_init_window),
      .cfg_unit_i(csr_cfg_unit),
      .open_valid_i(qp_table_open_valid),
      .open_ready_o(window_open_ready),
      .open_group_i(qp_table_open_group),
      .sub_valid_i(ack_take_sub_valid),
      .sub_ready_o(window_sub_ready),
      .sub_group_i(ack_take_sub_group),
      .sub_bytes_i(ack_take_sub_bytes),
      .lose_valid_i(retransmit_loss_valid),
      .lose_ready_o(window_lose_ready),
      .lose_group_i(retransmit_loss_group),
      .lose_bytes_i(retransmit_loss_bytes),
      .lose_shrink_i(retransmit_loss_shrink),
      .toss_valid_i(qp_drain_flight_valid),
      .toss_ready_o(window_toss_ready),
      .toss_group_i(qp_drain_flight_group),
      .toss_bytes_i(qp_drain_flight_bytes),
      .query_valid_i(packet_build_query_valid),
      .query_ready_o(window_query_ready),
      .query_group_i(packet_build_query_group),
      .query_rsp_valid_o(window_query_rsp_valid),
      .query_rsp_tight_o(window_query_rsp_tight),
      .try_valid_i(tx_scheduler_try_valid),
      .try_ready_o(window_try_ready),
      .try_group_i(tx_scheduler_try_group),
      .try_bytes_i(tx_scheduler_try_bytes),
      .try_commit_i(tx_scheduler_try_commit),
      .try_rsp_valid_o(window_try_rsp_valid),
      .try_rsp_ok_o(window_try_rsp_ok),
      .flight_sum_o(window_flight_sum),
      .win_we_o(window_win_we),
      .win_waddr_o(window_win_waddr),
      .win_wdata_o(window_win_wdata),
      .win_re_o(window_win_re),
      .win_raddr_o(window_win_raddr),
      .win_rdata_i(window_win_rdata)
  );

  ram_1r1w #(
      .WIDTH($bits(window_win_wdata)),
      .DEPTH(QPS)
  ) u_window_win (
      .clk_i,
      .we_i(window_win_we),
      .waddr_i(window_win_waddr),
      .wdata_i(window_win_wdata),
      .re_i(window_win_re),
      .raddr_i(window_win_raddr),
      .rdata_o(window_win_rdata)
  );

  path_select #(
      .DESTS(DESTS)
  ) u_path_select (
      .clk_i,
      .rst_ni,
      .skip_valid_i(ack_take_skip_valid),
      .skip_dest_i(ack_take_skip_dest),
      .skip_port_i(ack_take_skip_port),
      .bad_valid_i(retransmit_bad_valid),
      .bad_dest_i(retransmit_bad_dest),
      .bad_port_i(retransmit_bad_port),
      .good_valid_i(path_probe_good_valid),
      .good_dest_i(path_probe_good_dest),
      .good_value_i(path_probe_good_value),
      .look_valid_i(path_probe_look_valid),
      .look_ready_o(path_select_look_ready),
      .look_dest_i(path_probe_look_dest),
      .look_rsp_valid_o(path_select_look_rsp_valid),
      .look_rsp_bad_o(path_select_look_rsp_bad),
      .troubled_o(path_select_troubled),
      .fell_valid_o(path_select_fell_valid),
      .rose_valid_o(path_select_rose_valid),
      .told_dest_o(path_select_told_dest),
      .told_value_o(path_select_told_value),
      .data_valid_i(packet_build_data_valid),
      .data_ready_o(path_select_data_ready),
      .data_dest_i(packet_build_data_dest),
      .data_rsp_valid_o(path_select_data_rsp_valid),
      .data_rsp_port_o(path_select_data_rsp_port),
      .ack_valid_i(ack_build_ack_valid),
      .ack_ready_o(path_select_ack_ready),
      .ack_dest_i(ack_build_ack_dest),
      .ack_rsp_valid_o(path_select_ack_rsp_valid),
      .ack_rsp_port_o(path_select_ack_rsp_port),
      .flag_we_o(path_select_flag_we),
      .flag_waddr_o(path_select_flag_waddr),
      .flag_wdata_o(path_select_flag_wdata),
      .flag_re_o(path_select_flag_re),
      .flag_raddr_o(path_select_flag_raddr),
      .flag_rdata_i(path_select_flag_rdata),
      .next_we_o(path_select_next_we),
      .next_waddr_o(path_select_next_waddr),
      .next_wdata_o(path_select_next_wdata),
      .next_re_o(path_select_next_re),
      .next_raddr_o(path_select_next_raddr),
      .next_rdata_i(path_select_next_rdata),
      .prev_we_o(path_select_prev_we),
      .prev_waddr_o(path_select_prev_waddr),
      .prev_wdata_o(path_select_prev_wdata),
      .prev_re_o(path_select_prev_re),
      .prev_raddr_o(path_select_prev_raddr),
      .prev_rdata_i(path_select_prev_rdata)
  );

  ram_1r1w #(
      .WIDTH($bits(path_select_flag_wdata)),
      .DEPTH(DESTS)
  ) u_path_select_flag (
      .clk_i,
      .we_i(path_select_flag_we),
      .waddr_i(path_select_flag_waddr),
      .wdata_i(path_select_flag_wdata),
      .re_i(path_select_flag_re),
      .raddr_i(path_select_flag_raddr),
      .rdata_o(path_select_flag_rdata)
  );

  ram_1r1w #(
      .WIDTH($bits(path_select_next_wdata)),
      .DEPTH(DESTS * 128)
  ) u_path_select_next (
      .clk_i,
      .we_i(path_select_next_we),
      .waddr_i(path_select_next_waddr),
      .wdata_i(path_select_next_wdata),
      .re_i(path_select_next_re),
      .raddr_i(path_select_next_raddr),
      .rdata_o(path_select_next_rdata)
  );

  ram_1r1w #(
      .WIDTH($bits(path_select_prev_wdata)),
      .DEPTH(DESTS * 128)
  ) u_path_select_prev (
      .clk_i,
      .we_i(path_select_prev_we),
      .waddr_i(path_select_prev_waddr),
      .wdata_i(path_select_prev_wdata),
      .re_i(path_select_prev_re),
      .raddr_i(path_select_prev_raddr),
      .rdata_o(path_select_prev_rdata)
  );

  path_probe #(
      .DESTS(DESTS),
      .QPS  (QPS)
  ) u_path_probe (
      .clk_i,
      .rst_ni,
      .cfg_timeout_i(csr_cfg_timeout),
      .cfg_icrc_i(csr_cfg_icrc),
      .ticks_i(timer_wheel_now),
      .now_i,
      .troubled_i(path_select_troubled),
      .fell_valid_i(path_select_fell_valid),
      .rose_valid_i(path_select_rose_valid),
      .told_dest_i(path_select_told_dest),
      .told_value_i(path_select_told_value),
      .look_valid_o(path_probe_look_valid),
      .look_ready_i(path_select_look_ready),
      .look_dest_o(path_probe_look_dest),
      .look_rsp_valid_i(path_select_look_rsp_valid),
      .look_rsp_bad_i(path_select_look_rsp_bad),
      .good_valid_o(path_probe_good_valid),
      .good_dest_o(path_probe_good_dest),
      .good_value_o(path_probe_good_value),
      .probed_valid_i(ack_take_probed_valid),
      .probed_dest_i(ack_take_skip_dest),
      .probed_port_i(ack_take_skip_port),
      .probed_id_i(ack_take_probed_id),
      .probed_good_i(ack_take_probed_good),
      .created_valid_i(qp_table_created_valid),
      .created_qpn_i(qp_table_created_qpn),
      .created_dest_i(qp_table_created_dest),
      .closed_valid_i(qp_table_closed_valid),
      .closed_qpn_i(qp_table_closed_qpn),
      .dead_i(qp_table_dead),
      .room_valid_o(path_probe_room_valid),
      .room_ready_i(tx_scheduler_room_ready),
      .room_bytes_o(path_probe_room_bytes),
      .room_rsp_valid_i(tx_scheduler_room_rsp_valid),
      .room_rsp_ok_i(tx_scheduler_room_rsp_ok),
      .probe_valid_o(path_probe_probe_valid),
      .probe_ready_i(packet_build_probe_ready),
      .probe_qp_o(path_probe_probe_qp),
      .probe_dest_o(path_probe_probe_dest),
      .probe_value_o(path_probe_probe_value),
      .probe_id_o(path_probe_probe_id),
      .tx_valid_i(egress_arbiter_tx_valid),
      .tx_cls_i(egress_arbiter_tx_cls),
      .tx_i(egress_arbiter_tx),
      .end_valid_i(egress_arbiter_end_valid),
      .sample_valid_o(path_probe_sample_valid),
      .sample_dest_o(path_probe_sample_dest),
      .sample_at_o(path_probe_sample_at),
      .missed_valid_o(path_probe_missed_valid),
      .due_we_o(path_probe_due_we),
      .due_waddr_o(path_probe_due_waddr),
      .due_wdata_o(path_probe_due_wdata),
      .due_re_o(path_probe_due_re),
      .due_raddr_o(path_probe_due_raddr),
      .due_rdata_i(path_probe_due_rdata),
      .at_we_o(path_probe_at_we),
      .at_waddr_o(path_probe_at_waddr),
      .at_wdata_o(path_probe_at_wdata),
      .at_re_o(path_probe_at_re),
      .at_raddr_o(path_probe_at_raddr),
      .at_rdata_i(path_probe_at_rdata)
  );

  ram_1r1w #(
      .WIDTH($bits(path_probe_due_wdata)),
      .DEPTH(DESTS * 128)
  ) u_path_probe_due (
      .clk_i,
      .we_i(path_probe_due_we),
      .waddr_i(path_probe_due_waddr),
      .wdata_i(path_probe_due_wdata),
      .re_i(path_probe_due_re),
      .raddr_i(path_probe_due_raddr),
      .rdata_o(path_probe_due_rdata)
  );

  ram_1r1w #(
      .WIDTH($bits(path_probe_at_wdata)),
      .DEPTH(DESTS * 128)
  ) u_path_probe_at (
      .clk_i,
      .we_i(path_probe_at_we),
      .waddr_i(path_probe_at_waddr),
      .wdata_i(path_probe_at_wdata),
      .re_i(path_probe_at_re),
      .raddr_i(path_probe_at_raddr),
      .rdata_o(path_probe_at_rdata)
  );

  tx_scheduler #(
      .QPS(QPS)
  ) u_tx_scheduler (
      .clk_i,
      .rst_ni,
      .cfg_mss_i(csr_cfg_mss),
      .cfg_range_i(csr_cfg_range),
      .cfg_initial_psn_i(csr_cfg_initial_psn),
      .cfg_wire_overhead_i(csr_cfg_wire_overhead),
      .cfg_nominal_overhead_i(csr_cfg_nominal_overhead),
      .cfg_prefetch_on_i(csr_cfg_prefetch_on),
      .post_valid_i(doorbell_post_sched_valid),
      .post_ready_o(tx_scheduler_post_ready),
      .post_qp_i(doorbell_post_qp),
      .post_dest_i(doorbell_post_dest),
      .post_group_i(doorbell_post_group),
      .post_open_i(doorbell_post_open),
      .post_msg_i(doorbell_post_msg),
      .post_laddr_i(doorbell_post_laddr),
      .post_raddr_i(doorbell_post_raddr),
      .post_rkey_i(doorbell_post_rkey),
      .post_len_i(doorbell_post_len),
      .post_msn_i(doorbell_post_msn),
      .ring_i(doorbell_ring),
      .ack_valid_i(ack_take_ack_valid),
      .ack_ready_o(tx_scheduler_ack_ready),
      .ack_qp_i(ack_take_ack_qp),
      .ack_group_i(ack_take_ack_group),
      .ack_cum_i(ack_take_ack_cum),
      .drop_valid_i(qp_drain_drop_valid),
      .drop_ready_o(tx_scheduler_drop_ready),
      .drop_qp_i(qp_drain_drop_qp),
      .drop_group_i(qp_drain_drop_group),
      .wait_valid_i(retransmit_wait_valid),
      .wait_ready_o(tx_scheduler_wait_ready),
      .wait_qp_i(retransmit_wait_qp),
      .wait_group_i(retransmit_wait_group),
      .ask_valid_o(tx_scheduler_ask_valid),
      .ask_ready_i(retransmit_ask_ready),
      .ask_qp_o(tx_scheduler_ask_qp),
      .ask_from_o(tx_scheduler_ask_from),
      .ask_copy_o(tx_scheduler_ask_copy),
      .offer_valid_i(retransmit_offer_valid),
      .offer_hit_i(retransmit_offer_hit),
      .offer_len_i(retransmit_offer_len),
      .offer_more_i(retransmit_offer_more),
      .end_valid_o(tx_scheduler_end_valid),
      .end_take_o(tx_scheduler_end_take),
      .copy_valid_i(ack_ask_copy_valid),
      .copy_done_o(tx_scheduler_copy_done),
      .try_valid_o(tx_scheduler_try_valid),
      .try_ready_i(window_try_ready),
      .try_group_o(tx_scheduler_try_group),
      .try_bytes_o(tx_scheduler_try_bytes),
      .try_commit_o(tx_scheduler_try_commit),
      .try_rsp_valid_i(window_try_rsp_valid),
      .try_rsp_ok_i(window_try_rsp_ok),
      .egress_free_i(egress_arbiter_egress_free),
      .room_valid_i(path_probe_room_valid),
      .room_ready_o(tx_scheduler_room_ready),
      .room_bytes_i(path_probe_room_bytes),
      .room_rsp_valid_o(tx_scheduler_room_rsp_valid),
      .room_rsp_ok_o(tx_scheduler_room_rsp_ok),
      .resv_valid_o(tx_scheduler_resv_valid),
      .resv_bytes_o(tx_scheduler_resv_bytes),
      .half_valid_i(egress_arbiter_half_valid),
      .prefetch_free_i(prefetch_pool_free),
      .prefetch_half_i(prefetch_pool_half_valid),
      .take_valid_o(tx_scheduler_take_valid),
      .give_valid_o(tx_scheduler_give_valid),
      .commit_valid_i(payload_fetch_commit_valid),
      .commit_ready_o(tx_scheduler_commit_ready),
      .commit_len_i(payload_fetch_hand.len),
      .slot_valid_i(replay_store_slot_valid),
      .slot_ready_o(tx_scheduler_slot_ready),
      .slot_i(replay_store_slot),
      .seg_valid_o(tx_scheduler_seg_valid),
      .seg_ready_i(payload_fetch_seg_ready),
      .seg_o(tx_scheduler_seg),
      .tags_free_i(payload_fetch_tags_free),
      .sent_valid_o(tx_scheduler_sent_valid),
      .sent_ready_i(completion_sent_ready),
      .sent_qp_o(tx_scheduler_sent_qp),
      .sent_msg_o(tx_scheduler_sent_msg),
      .sent_slot_o(tx_scheduler_sent_slot),
      .sent_psn_o(tx_scheduler_sent_psn),
      .sent_first_o(tx_scheduler_sent_first),
      .passing_o(tx_scheduler_passing),
      .stall_slots_o(tx_scheduler_stall_slots),
      .stall_tags_o(tx_scheduler_stall_tags),
      .qctx_we_o(tx_scheduler_qctx_we),
      .qctx_waddr_o(tx_scheduler_qctx_waddr),
      .qctx_wdata_o(tx_scheduler_qctx_wdata),
      .qctx_re_o(tx_scheduler_qctx_re),
      .qctx_raddr_o(tx_scheduler_qctx_raddr),
      .qctx_rdata_i(tx_scheduler_qctx_rdata),
      .smsg_we_o(tx_scheduler_smsg_we),
      .smsg_waddr_o(tx_scheduler_smsg_waddr),
      .smsg_wdata_o(tx_scheduler_smsg_wdata),
      .smsg_re_o(tx_scheduler_smsg_re),
      .smsg_raddr_o(tx_scheduler_smsg_raddr),
      .smsg_rdata_i(tx_scheduler_smsg_rdata),
      .work_we_o(tx_scheduler_work_we),
      .work_waddr_o(tx_scheduler_work_waddr),
      .work_wdata_o(tx_scheduler_work_wdata),
      .work_re_o(tx_scheduler_work_re),
      .work_raddr_o(tx_scheduler_work_raddr),
      .work_rdata_i(tx_scheduler_work_rdata)
  );

  ram_1r1w #(
      .WIDTH($bits(tx_scheduler_qctx_wdata)),
      .DEPTH(QPS)
  ) u_tx_scheduler_qctx (
      .clk_i,
      .we_i(tx_scheduler_qctx_we),
      .waddr_i(tx_scheduler_qctx_waddr),
      .wdata_i(tx_scheduler_qctx_wdata),
      .re_i(tx_scheduler_qctx_re),
      .raddr_i(tx_scheduler_qctx_raddr),
      .rdata_o(tx_scheduler_qctx_rdata)
  );

  ram_1r1w #(
      .WIDTH($bits(tx_scheduler_smsg_wdata)),
      .DEPTH(MSGS)
  ) u_tx_scheduler_smsg (
      .clk_i,
      .we_i(tx_scheduler_smsg_we),
      .waddr_i(tx_scheduler_smsg_waddr),
      .wdata_i(tx_scheduler_smsg_wdata),
      .re_i(tx_scheduler_smsg_re),
      .raddr_i(tx_scheduler_smsg_raddr),
      .rdata_o(tx_scheduler_smsg_rdata)
  );

  ram_1r1w #(
      .WIDTH($bits(tx_scheduler_work_wdata)),
      .DEPTH(QPS)
  ) u_tx_scheduler_work (
      .clk_i,
      .we_i(tx_scheduler_work_we),
      .waddr_i(tx_scheduler_work_waddr),
      .wdata_i(tx_scheduler_work_wdata),
      .re_i(tx_scheduler_work_re),
      .raddr_i(tx_scheduler_work_raddr),
      .rdata_o(tx_scheduler_work_rdata)
  );

  replay_store #(
      .PSNS (PSNS),
      .SLOTS(SLOTS)
  ) u_replay_store (
      .clk_i,
      .rst_ni,
      .slot_valid_o(replay_store_slot_valid),
      .slot_ready_i(tx_scheduler_slot_ready),
      .slot_o(replay_store_slot),
      .build_valid_i(packet_build_rec_valid),
      .build_ready_o(replay_store_build_ready),
      .build_i(packet_build_rec),
      .made_valid_i(packet_build_made_valid),
      .made_slot_i(packet_build_made_slot),
      .made_port_i(packet_build_made_port),
      .look_valid_i(retransmit_look_valid),
      .look_ready_o(replay_store_look_ready),
      .look_op_i(retransmit_look_op),
      .look_qp_i(retransmit_look_qp),
      .look_psn_i(retransmit_look_psn),
      .look_slot_i(retransmit_look_slot),
      .look_discard_i(retransmit_look_discard),
      .look_rsp_valid_o(replay_store_look_rsp_valid),
      .look_rsp_hit_o(replay_store_look_rsp_hit),
      .look_rsp_slot_o(replay_store_look_rsp_slot),
      .look_rsp_o(replay_store_look_rsp),
      .look_rsp_port_o(replay_store_look_rsp_port),
      .hold_valid_i(retransmit_hold_valid),
      .hold_slot_i(retransmit_hold_slot),
      .copying_i(retransmit_copying),
      .final_valid_i(completion_final_valid),
      .final_ready_o(replay_store_final_ready),
      .final_slot_i(completion_final_slot),
      .toss_valid_i(qp_drain_toss_valid),
      .toss_ready_o(replay_store_toss_ready),
      .toss_slot_i(qp_drain_toss_slot),
      .gone_valid_i(port_tx_gone_valid),
      .gone_data_i(port_tx_gone_data),
      .gone_slot_i(port_tx_gone_slot),
      .sent_valid_o(replay_store_sent_valid),
      .sent_slot_o(replay_store_sent_slot),
      .used_o(replay_store_used),
      .map_we_o(replay_store_map_we),
      .map_waddr_o(replay_store_map_waddr),
      .map_wdata_o(replay_store_map_wdata),
      .map_re_o(replay_store_map_re),
      .map_raddr_o(replay_store_map_raddr),
      .map_rdata_i(replay_store_map_rdata),
      .rec_we_o(replay_store_rec_we),
      .rec_waddr_o(replay_store_rec_waddr),
      .rec_wdata_o(replay_store_rec_wdata),
      .rec_re_o(replay_store_rec_re),
      .rec_raddr_o(replay_store_rec_raddr),
      .rec_rdata_i(replay_store_rec_rdata),
      .path_we_o(replay_store_path_we),
      .path_waddr_o(replay_store_path_waddr),
      .path_wdata_o(replay_store_path_wdata),
      .path_re_o(replay_store_path_re),
      .path_raddr_o(replay_store_path_raddr),
      .path_rdata_i(replay_store_path_rdata),
      .fl_we_o(replay_store_fl_we),
      .fl_waddr_o(replay_store_fl_waddr),
      .fl_wdata_o(replay_store_fl_wdata),
      .fl_re_o(replay_store_fl_re),
      .fl_raddr_o(replay_store_fl_raddr),
      .fl_rdata_i(replay_store_fl_rdata)
  );

  ram_1r1w #(
      .WIDTH($bits(replay_store_map_wdata)),
      .DEPTH(QPS * PSNS)
  ) u_replay_store_map (
      .clk_i,
      .we_i(replay_store_map_we),
      .waddr_i(replay_store_map_waddr),
      .wdata_i(replay_store_map_wdata),
      .re_i(replay_store_map_re),
      .raddr_i(replay_store_map_raddr),
      .rdata_o(replay_store_map_rdata)
  );

  ram_1r1w #(
      .WIDTH($bits(replay_store_rec_wdata)),
      .DEPTH(SLOTS)
  ) u_replay_store_rec (
      .clk_i,
      .we_i(replay_store_rec_we),
      .waddr_i(replay_store_rec_waddr),
      .wdata_i(replay_store_rec_wdata),
      .re_i(replay_store_rec_re),
      .raddr_i(replay_store_rec_raddr),
      .rdata_o(replay_store_rec_rdata)
  );

  ram_1r1w #(
      .WIDTH($bits(replay_store_fl_wdata)),
      .DEPTH(SLOTS)
  ) u_replay_store_fl (
      .clk_i,
      .we_i(replay_store_fl_we),
      .waddr_i(replay_store_fl_waddr),
      .wdata_i(replay_store_fl_wdata),
      .re_i(replay_store_fl_re),
      .raddr_i(replay_store_fl_raddr),
      .rdata_o(replay_store_fl_rdata)
  );

  ram_1r1w #(
      .WIDTH($bits(replay_store_path_wdata)),
      .DEPTH(SLOTS)
  ) u_replay_store_path (
      .clk_i,
      .we_i(replay_store_path_we),
      .waddr_i(replay_store_path_waddr),
      .wdata_i(replay_store_path_wdata),
      .re_i(replay_store_path_re),
      .raddr_i(replay_store_path_raddr),
      .rdata_o(replay_store_path_rdata)
  );

  retransmit #(
      .QPS  (QPS),
      .PSNS (PSNS),
      .SLOTS(SLOTS)
  ) u_retransmit (
      .clk_i,
      .rst_ni,
      .cfg_timeout_i(csr_cfg_timeout),
      .cfg_linear_i(csr_cfg_linear),
      .cfg_expo_i(csr_cfg_expo),
      .cfg_fixed_i(csr_cfg_fixed),
      .cfg_nominal_overhead_i(csr_cfg_nominal_overhead),
      .error_i(qp_table_dead),
      .now_i(now_i),
      .retire_valid_i(ack_take_retire_valid),
      .retire_ready_o(retransmit_retire_ready),
      .retire_qp_i(ack_take_retire_qp),
      .retire_psn_i(ack_take_retire_psn),
      .retire_discard_i(ack_take_retire_discard),
      .retire_rsp_valid_o(retransmit_retire_rsp_valid),
      .retire_rsp_len_o(retransmit_retire_rsp_len),
      .retire_rsp_group_o(retransmit_retire_rsp_group),
      .retire_rsp_last_o(retransmit_retire_rsp_last),
      .retire_rsp_flight_o(retransmit_retire_rsp_flight),
      .retire_rsp_sent_o(retransmit_retire_rsp_sent),
      .retire_rsp_at_o(retransmit_retire_rsp_at),
      .retire_rsp_port_o(retransmit_retire_rsp_port),
      .lose_valid_i(ack_take_lose_valid),
      .lose_ready_o(retransmit_lose_ready),
      .lose_qp_i(ack_take_lose_qp),
      .lose_psn_i(ack_take_lose_psn),
      .lose_cause_i(ack_take_lose_cause),
      .lose_rsp_valid_o(retransmit_lose_rsp_valid),
      .lose_rsp_queued_o(retransmit_lose_rsp_queued),
      .lose_rsp_fatal_o(retransmit_lose_rsp_fatal),
      .lose_rsp_sent_o(retransmit_lose_rsp_sent),
      .lose_rsp_at_o(retransmit_lose_rsp_at),
      .sent_valid_i(replay_store_sent_valid),
      .sent_slot_i(replay_store_sent_slot),
      .look_valid_o(retransmit_look_valid),
      .look_ready_i(replay_store_look_ready),
      .look_op_o(retransmit_look_op),
      .look_qp_o(retransmit_look_qp),
      .look_psn_o(retransmit_look_psn),
      .look_slot_o(retransmit_look_slot),
      .look_discard_o(retransmit_look_discard),
      .look_rsp_valid_i(replay_store_look_rsp_valid),
      .look_rsp_hit_i(replay_store_look_rsp_hit),
      .look_rsp_slot_i(replay_store_look_rsp_slot),
      .look_rsp_i(replay_store_look_rsp),
      .look_rsp_port_i(replay_store_look_rsp_port),
      .hold_valid_o(retransmit_hold_valid),
      .hold_slot_o(retransmit_hold_slot),
      .copying_o(retransmit_copying),
      .ticks_i(timer_wheel_now),
      .arm_valid_o(retransmit_arm_valid),
      .arm_slot_o(retransmit_arm_slot),
      .arm_gen_o(retransmit_arm_gen),
      .arm_start_o(retransmit_arm_start),
      .arm_span_o(retransmit_arm_span),
      .cancel_valid_o(retransmit_cancel_valid),
      .cancel_slot_o(retransmit_cancel_slot),
      .exp_valid_i(timer_wheel_exp_valid),
      .exp_ready_o(retransmit_exp_ready),
      .exp_slot_i(timer_wheel_exp_slot),
      .exp_gen_i(timer_wheel_exp_gen),
      .map_valid_o(retransmit_map_valid),
      .map_ready_i(waits_req_ready),
      .map_op_o(retransmit_map_op),
      .map_qp_o(retransmit_map_qp),
      .map_psn_o(retransmit_map_psn),
      .map_end_o(retransmit_map_end),
      .map_rsp_valid_i(waits_rsp_valid),
      .map_rsp_psn_i(waits_rsp_psn),
      .loss_valid_o(retransmit_loss_valid),
      .loss_ready_i(window_lose_ready),
      .loss_group_o(retransmit_loss_group),
      .loss_bytes_o(retransmit_loss_bytes),
      .loss_shrink_o(retransmit_loss_shrink),
      .wait_valid_o(retransmit_wait_valid),
      .wait_ready_i(tx_scheduler_wait_ready),
      .wait_qp_o(retransmit_wait_qp),
      .wait_group_o(retransmit_wait_group),
      .ask_valid_i(tx_scheduler_ask_valid),
      .ask_ready_o(retransmit_ask_ready),
      .ask_qp_i(tx_scheduler_ask_qp),
      .ask_from_i(tx_scheduler_ask_from),
      .ask_copy_i(tx_scheduler_ask_copy),
      .offer_valid_o(retransmit_offer_valid),
      .offer_hit_o(retransmit_offer_hit),
      .offer_len_o(retransmit_offer_len),
      .offer_more_o(retransmit_offer_more),
      .end_valid_i(tx_scheduler_end_valid),
      .end_take_i(tx_scheduler_end_take),
      .copy_live_i(ack_ask_copy_live),
      .copy_slot_i(ack_ask_copy_slot),
      .again_valid_o(retransmit_again_valid),
      .again_ready_i(packet_build_again_ready),
      .again_o(retransmit_again),
      .bad_valid_o(retransmit_bad_valid),
      .bad_dest_o(retransmit_bad_dest),
      .bad_port_o(retransmit_bad_port),
      .fail_valid_o(retransmit_fail_valid),
      .fail_ready_i(qp_drain_fail_ready),
      .fail_qp_o(retransmit_fail_qp),
      .queued_valid_o(retransmit_queued_valid),
      .queued_qp_o(retransmit_queued_qp),
      .queued_psn_o(retransmit_queued_psn),
      .queued_cause_o(retransmit_queued_cause),
      .tim_we_o(retransmit_tim_we),
      .tim_waddr_o(retransmit_tim_waddr),
      .tim_wdata_o(retransmit_tim_wdata),
      .tims_re_o(retransmit_tims_re),
      .tims_raddr_o(retransmit_tims_raddr),
      .tims_rdata_i(retransmit_tims_rdata),
      .tim_re_o(retransmit_tim_re),
      .tim_raddr_o(retransmit_tim_raddr),
      .tim_rdata_i(retransmit_tim_rdata),
      .at_we_o(retransmit_at_we),
      .at_waddr_o(retransmit_at_waddr),
      .at_wdata_o(retransmit_at_wdata),
      .at_re_o(retransmit_at_re),
      .at_raddr_o(retransmit_at_raddr),
      .at_rdata_i(retransmit_at_rdata)
  );

  ram_1r1w #(
      .WIDTH($bits(retransmit_tim_wdata)),
      .DEPTH(SLOTS)
  ) u_retransmit_tims (
      .clk_i,
      .we_i(retransmit_tim_we),
      .waddr_i(retransmit_tim_waddr),
      .wdata_i(retransmit_tim_wdata),
      .re_i(retransmit_tims_re),
      .raddr_i(retransmit_tims_raddr),
      .rdata_o(retransmit_tims_rdata)
  );

  ram_1r1w #(
      .WIDTH($bits(retransmit_tim_wdata)),
      .DEPTH(SLOTS)
  ) u_retransmit_tim (
      .clk_i,
      .we_i(retransmit_tim_we),
      .waddr_i(retransmit_tim_waddr),
      .wdata_i(retransmit_tim_wdata),
      .re_i(retransmit_tim_re),
      .raddr_i(retransmit_tim_raddr),
      .rdata_o(retransmit_tim_rdata)
  );

  ram_1r1w #(
      .WIDTH($bits(retransmit_at_wdata)),
      .DEPTH(SLOTS)
  ) u_retransmit_at (
      .clk_i,
      .we_i(retransmit_at_we),
      .waddr_i(retransmit_at_waddr),
      .wdata_i(retransmit_at_wdata),
      .re_i(retransmit_at_re),
      .raddr_i(retransmit_at_raddr),
      .rdata_o(retransmit_at_rdata)
  );

  timer_wheel #(
      .SLOTS(SLOTS)
  ) u_timer_wheel (
      .clk_i,
      .rst_ni,
      .tick_i(tick_i),
      .now_o(timer_wheel_now),
      .arm_valid_i(retransmit_arm_valid),
      .arm_slot_i(retransmit_arm_slot),
      .arm_gen_i(retransmit_arm_gen),
      .arm_start_i(retransmit_arm_start),
      .arm_span_i(retransmit_arm_span),
      .cancel_valid_i(retransmit_cancel_valid),
      .cancel_slot_i(retransmit_cancel_slot),
      .exp_valid_o(timer_wheel_exp_valid),
      .exp_ready_i(retransmit_exp_ready),
      .exp_slot_o(timer_wheel_exp_slot),
      .exp_gen_o(timer_wheel_exp_gen),
      .exp_tick_o(timer_wheel_exp_tick),
      .running_o(timer_wheel_running),
      .rec_we_o(timer_wheel_rec_we),
      .rec_waddr_o(timer_wheel_rec_waddr),
      .rec_wdata_o(timer_wheel_rec_wdata),
      .rec_re_o(timer_wheel_rec_re),
      .rec_raddr_o(timer_wheel_rec_raddr),
      .rec_rdata_i(timer_wheel_rec_rdata),
      .spoke_we_o(timer_wheel_spoke_we),
      .spoke_waddr_o(timer_wheel_spoke_waddr),
      .spoke_wdata_o(timer_wheel_spoke_wdata),
      .spoke_re_o(timer_wheel_spoke_re),
      .spoke_raddr_o(timer_wheel_spoke_raddr),
      .spoke_rdata_i(timer_wheel_spoke_rdata)
  );

  ram_1r1w #(
      .WIDTH($bits(timer_wheel_rec_wdata)),
      .DEPTH(SLOTS)
  ) u_timer_wheel_rec (
      .clk_i,
      .we_i(timer_wheel_rec_we),
      .waddr_i(timer_wheel_rec_waddr),
      .wdata_i(timer_wheel_rec_wdata),
      .re_i(timer_wheel_rec_re),
      .raddr_i(timer_wheel_rec_raddr),
      .rdata_o(timer_wheel_rec_rdata)
  );

  ram_1r1w #(
      .WIDTH($bits(timer_wheel_spoke_wdata)),
      .DEPTH(SLOTS > 64 ? 512 : 192)
  ) u_timer_wheel_spoke (
      .clk_i,
      .we_i(timer_wheel_spoke_we),
      .waddr_i(timer_wheel_spoke_waddr),
      .wdata_i(timer_wheel_spoke_wdata),
      .re_i(timer_wheel_spoke_re),
      .raddr_i(timer_wheel_spoke_raddr),
      .rdata_o(timer_wheel_spoke_rdata)
  );

  sack_bitmap #(
      .PSNS(PSNS)
  ) u_waits (
      .clk_i,
      .rst_ni,
      .req_valid_i(retransmit_map_valid),
      .req_ready_o(waits_req_ready),
      .req_op_i(retransmit_map_op),
      .req_qp_i(retransmit_map_qp),
      .req_psn_i(retransmit_map_psn),
      .req_end_i(retransmit_map_end),
      .req_low_i('0),
      .req_walk_i('0),
      .req_last_i(1'b0),
      .req_asked_i(1'b0),
      .rsp_valid_o(waits_rsp_valid),
      .rsp_ready_i(1'b1),
      .rsp_hit_o(waits_rsp_hit),
      .rsp_psn_o(waits_rsp_psn),
      .rsp_bits_o(waits_rsp_bits),
      .rsp_far_o(waits_rsp_far),
      .rsp_asked_o(waits_rsp_asked),
      .rsp_more_o(waits_rsp_more),
      .bits_we_o(waits_bits_we),
      .bits_waddr_o(waits_bits_waddr),
      .bits_wdata_o(waits_bits_wdata),
      .bits_re_o(waits_bits_re),
      .bits_raddr_o(waits_bits_raddr),
      .bits_rdata_i(waits_bits_rdata),
      .mark_we_o(waits_mark_we),
      .mark_waddr_o(waits_mark_waddr),
      .mark_wdata_o(waits_mark_wdata),
      .mark_re_o(waits_mark_re),
      .mark_raddr_o(waits_mark_raddr),
      .mark_rdata_i('0),
      .any_we_o(waits_any_we),
      .any_waddr_o(waits_any_waddr),
      .any_wdata_o(waits_any_wdata),
      .any_re_o(waits_any_re),
      .any_raddr_o(waits_any_raddr),
      .any_rdata_i(waits_any_rdata)
  );

  ram_1r1w #(
      .WIDTH($bits(waits_bits_wdata)),
      .DEPTH(QPS * PSNS / 64)
  ) u_waits_bits (
      .clk_i,
      .we_i(waits_bits_we),
      .waddr_i(waits_bits_waddr),
      .wdata_i(waits_bits_wdata),
      .re_i(waits_bits_re),
      .raddr_i(waits_bits_raddr),
      .rdata_o(waits_bits_rdata)
  );

  ram_1r1w #(
      .WIDTH($bits(waits_any_wdata)),
      .DEPTH(QPS)
  ) u_waits_any (
      .clk_i,
      .we_i(waits_any_we),
      .waddr_i(waits_any_waddr),
      .wdata_i(waits_any_wdata),
      .re_i(waits_any_re),
      .raddr_i(waits_any_raddr),
      .rdata_o(waits_any_rdata)
  );

  payload_fetch #(
      .SLOTS(SLOTS),
      .TAGS (TAGS)
  ) u_payload_fetch (
      .clk_i,
      .rst_ni,
      .seg_valid_i(tx_scheduler_seg_valid),
      .seg_ready_o(payload_fetch_seg_ready),
      .seg_i(tx_scheduler_seg),
      .rd_valid_o(payload_fetch_rd_valid),
      .rd_ready_i(tlp_engine_rd_ready),
      .rd_addr_o(payload_fetch_rd_addr),
      .rd_len_o(payload_fetch_rd_len),
      .rd_tag_o(payload_fetch_rd_tag),
      .cpl_valid_i(tlp_parse_cpl_valid),
      .cpl_tag_i(tlp_parse_cpl_tag),
      .cpl_first_i(tlp_parse_cpl_first),
      .cpl_last_i(tlp_parse_cpl_last),
      .cpl_data_i(tlp_parse_cpl_data),
      .cpl_bytes_i(tlp_parse_cpl_bytes),
      .cpl_status_i(tlp_parse_cpl_status),
      .cpl_poison_i(tlp_parse_cpl_poison),
      .cpl_count_i(tlp_parse_cpl_count),
      .cpl_lower_i(tlp_parse_cpl_lower),
      .bank_we_o(payload_fetch_bank_we),
      .bank_waddr_o(payload_fetch_bank_waddr),
      .bank_wdata_o(payload_fetch_bank_wdata),
      .ord_valid_o(payload_fetch_ord_valid),
      .ord_ready_i(order_fifo_in_ready),
      .ord_o(payload_fetch_ord),
      .head_valid_i(order_fifo_out_valid),
      .head_ready_o(payload_fetch_head_ready),
      .head_i(order_fifo_out_data),
      .hand_valid_o(payload_fetch_hand_valid),
      .hand_ready_i(packet_build_hand_ready),
      .hand_o(payload_fetch_hand),
      .commit_valid_o(payload_fetch_commit_valid),
      .commit_ready_i(tx_scheduler_commit_ready),
      .tagr_we_o(payload_fetch_tagr_we),
      .tagr_waddr_o(payload_fetch_tagr_waddr),
      .tagr_wdata_o(payload_fetch_tagr_wdata),
      .tagr_re_o(payload_fetch_tagr_re),
      .tagr_raddr_o(payload_fetch_tagr_raddr),
      .tagr_rdata_i(payload_fetch_tagr_rdata),
      .tags_free_o(payload_fetch_tags_free),
      .bad_valid_o(payload_fetch_bad_valid),
      .bad_reason_o(payload_fetch_bad_reason),
      .failed_valid_o(payload_fetch_failed_valid),
      .failed_ready_i(qp_drain_failed_ready),
      .failed_o(payload_fetch_failed),
      .failed_reason_o(payload_fetch_failed_reason),
      .dead_i(qp_table_dead),
      .cfg_prefetch_on_i(csr_cfg_prefetch_on)
  );

  prefetch_pool u_prefetch_pool (
      .clk_i,
      .rst_ni,
      .take_valid_i(tx_scheduler_take_valid),
      .commit_valid_i(tx_scheduler_give_valid),
      .bytes_i(tx_scheduler_resv_bytes),
      .drop_valid_i(qp_drain_unfetch_valid),
      .drop_bytes_i(qp_drain_unresv_bytes),
      .free_o(prefetch_pool_free),
      .half_valid_o(prefetch_pool_half_valid),
      .occ_o(prefetch_pool_occ),
      .cfg_prefetch_i(csr_cfg_prefetch)
  );

  ram_1r1w #(
      .WIDTH($bits(payload_fetch_bank_wdata)),
      .DEPTH(SLOTS * 65)
  ) u_replay0 (
      .clk_i,
      .we_i(payload_fetch_bank_we[0]),
      .waddr_i(payload_fetch_bank_waddr),
      .wdata_i(payload_fetch_bank_wdata),
      .re_i(port_tx_bank_re[0]),
      .raddr_i(port_tx_bank_raddr0),
      .rdata_o(replay0_rdata)
  );

  ram_1r1w #(
      .WIDTH($bits(payload_fetch_bank_wdata)),
      .DEPTH(SLOTS * 65)
  ) u_replay1 (
      .clk_i,
      .we_i(payload_fetch_bank_we[1]),
      .waddr_i(payload_fetch_bank_waddr),
      .wdata_i(payload_fetch_bank_wdata),
      .re_i(port_tx_bank_re[1]),
      .raddr_i(port_tx_bank_raddr1),
      .rdata_o(replay1_rdata)
  );

  ram_1r1w #(
      .WIDTH($bits(payload_fetch_tagr_wdata)),
      .DEPTH(TAGS)
  ) u_payload_fetch_tagr (
      .clk_i,
      .we_i(payload_fetch_tagr_we),
      .waddr_i(payload_fetch_tagr_waddr),
      .wdata_i(payload_fetch_tagr_wdata),
      .re_i(payload_fetch_tagr_re),
      .raddr_i(payload_fetch_tagr_raddr),
      .rdata_o(payload_fetch_tagr_rdata)
  );

  ram_fifo #(
      .WIDTH($bits(segment_t)),
      .DEPTH(SLOTS)
  ) u_order_fifo (
      .clk_i,
      .rst_ni,
      .in_valid_i(payload_fetch_ord_valid),
      .in_ready_o(order_fifo_in_ready),
      .in_data_i(payload_fetch_ord),
      .out_valid_o(order_fifo_out_valid),
      .out_ready_i(payload_fetch_head_ready),
      .out_data_o(order_fifo_out_data),
      .ram_we_o(order_fifo_ram_we),
      .ram_waddr_o(order_fifo_ram_waddr),
      .ram_wdata_o(order_fifo_ram_wdata),
      .ram_re_o(order_fifo_ram_re),
      .ram_raddr_o(order_fifo_ram_raddr),
      .ram_rdata_i(order_fifo_ram_rdata),
      .level_o(order_fifo_level)
  );

  ram_1r1w #(
      .WIDTH($bits(order_fifo_ram_wdata)),
      .DEPTH(SLOTS)
  ) u_order_fifo_ram (
      .clk_i,
      .we_i(order_fifo_ram_we),
      .waddr_i(order_fifo_ram_waddr),
      .wdata_i(order_fifo_ram_wdata),
      .re_i(order_fifo_ram_re),
      .raddr_i(order_fifo_ram_raddr),
      .rdata_o(order_fifo_ram_rdata)
  );

  tlp_engine u_tlp_engine (
      .clk_i,
      .rst_ni,
      .cfg_rid_i(csr_cfg_rid),
      .cfg_cqe_on_link_i(csr_cfg_cqe_on_link),
      .cfg_pcie_overhead_i(csr_cfg_pcie_overhead),
      .cfg_read_request_i(csr_cfg_read_request),
      .rd_valid_i(payload_fetch_rd_valid),
      .rd_ready_o(tlp_engine_rd_ready),
      .rd_addr_i(payload_fetch_rd_addr),
      .rd_len_i(payload_fetch_rd_len),
      .rd_tag_i(payload_fetch_rd_tag),
      .wr_valid_i(payload_write_wr_valid),
      .wr_ready_o(tlp_engine_wr_ready),
      .wr_first_i(payload_write_wr_first),
      .wr_last_i(payload_write_wr_last),
      .wr_addr_i(payload_write_wr_addr),
      .wr_len_i(payload_write_wr_len),
      .wr_data_i(payload_write_wr_data),
      .cqe_valid_i(completion_cqe_valid),
      .cqe_ready_o(tlp_engine_cqe_ready),
      .cqe_addr_i(completion_cqe_addr),
      .cqe_data_i(completion_cqe_data),
      .tx_valid_o(tlp_engine_tx_valid),
      .tx_ready_i(pcie_link_tx_ready),
      .tx_first_o(tlp_engine_tx_first),
      .tx_last_o(tlp_engine_tx_last),
      .tx_kind_o(tlp_engine_tx_kind),
      .tx_hdr_o(tlp_engine_tx_hdr),
      .tx_dws_o(tlp_engine_tx_dws),
      .tx_cost_o(tlp_engine_tx_cost),
      .tx_data_o(tlp_engine_tx_data),
      .tx_free_i(pcie_link_tx_free)
  );

  pcie_link u_pcie_link (
      .clk_i,
      .rst_ni,
      .cfg_pcie_rate_i(csr_cfg_pcie_rate),
      .cfg_tx_hdr_buf_i(csr_cfg_tx_hdr_buf),
      .cfg_tx_data_buf_i(csr_cfg_tx_data_buf),
      .cfg_far_hdr_buf_i(csr_cfg_far_hdr_buf),
      .cfg_far_data_buf_i(csr_cfg_far_data_buf),
      .tx_valid_i(tlp_engine_tx_valid),
      .tx_ready_o(pcie_link_tx_ready),
      .tx_first_i(tlp_engine_tx_first),
      .tx_last_i(tlp_engine_tx_last),
      .tx_kind_i(tlp_engine_tx_kind),
      .tx_hdr_i(tlp_engine_tx_hdr),
      .tx_dws_i(tlp_engine_tx_dws),
      .tx_cost_i(tlp_engine_tx_cost),
      .tx_data_i(tlp_engine_tx_data),
      .tx_free_o(pcie_link_tx_free),
      .buf_we_o(pcie_link_buf_we),
      .buf_waddr_o(pcie_link_buf_waddr),
      .buf_wdata_o(pcie_link_buf_wdata),
      .buf_re_o(pcie_link_buf_re),
      .buf_raddr_o(pcie_link_buf_raddr),
      .buf_rdata_i(pcie_link_buf_rdata),
      .rpush_valid_o(pcie_link_rpush_valid),
      .rpush_ready_i(pcie_reads_in_ready),
      .rpush_o(pcie_link_rpush),
      .rhead_valid_i(pcie_reads_out_valid),
      .rhead_ready_o(pcie_link_rhead_ready),
      .rhead_i(pcie_reads_out_data),
      .wpush_valid_o(pcie_link_wpush_valid),
      .wpush_ready_i(pcie_writes_in_ready),
      .wpush_o(pcie_link_wpush),
      .whead_valid_i(pcie_writes_out_valid),
      .whead_ready_o(pcie_link_whead_ready),
      .whead_i(pcie_writes_out_data),
      .cpush_valid_o(pcie_link_cpush_valid),
      .cpush_ready_i(pcie_cqes_in_ready),
      .cpush_o(pcie_link_cpush),
      .chead_valid_i(pcie_cqes_out_valid),
      .chead_ready_o(pcie_link_chead_ready),
      .chead_i(pcie_cqes_out_data),
      .room_valid_i,
      .room_hdr_i,
      .room_data_i,
      .tlp_valid_o(pcie_link_tlp_valid),
      .tlp_sop_o(pcie_link_tlp_sop),
      .tlp_eop_o(pcie_link_tlp_eop),
      .tlp_hdr_o(pcie_link_tlp_hdr),
      .tlp_dws_o(pcie_link_tlp_dws),
      .tlp_data_o(pcie_link_tlp_data),
      .tlp_back_o(pcie_link_tlp_back),
      .sent_valid_o(pcie_link_sent_valid),
      .sent_kind_o(pcie_link_sent_kind),
      .cqe_valid_o(pcie_link_cqe_valid),
      .cqe_hdr_o(pcie_link_cqe_hdr),
      .cqe_data_o(pcie_link_cqe_data)
  );

  ram_1r1w #(
      .WIDTH($bits(pcie_link_buf_wdata)),
      .DEPTH(4096)
  ) u_pcie_link_buf (
      .clk_i,
      .we_i(pcie_link_buf_we),
      .waddr_i(pcie_link_buf_waddr),
      .wdata_i(pcie_link_buf_wdata),
      .re_i(pcie_link_buf_re),
      .raddr_i(pcie_link_buf_raddr),
      .rdata_o(pcie_link_buf_rdata)
  );

  ram_fifo #(
      .WIDTH(151),
      .DEPTH(1024)
  ) u_pcie_reads (
      .clk_i,
      .rst_ni,
      .in_valid_i(pcie_link_rpush_valid),
      .in_ready_o(pcie_reads_in_ready),
      .in_data_i(pcie_link_rpush),
      .out_valid_o(pcie_reads_out_valid),
      .out_ready_i(pcie_link_rhead_ready),
      .out_data_o(pcie_reads_out_data),
      .ram_we_o(pcie_reads_ram_we),
      .ram_waddr_o(pcie_reads_ram_waddr),
      .ram_wdata_o(pcie_reads_ram_wdata),
      .ram_re_o(pcie_reads_ram_re),
      .ram_raddr_o(pcie_reads_ram_raddr),
      .ram_rdata_i(pcie_reads_ram_rdata),
      .level_o(pcie_reads_level)
  );

  ram_1r1w #(
      .WIDTH($bits(pcie_reads_ram_wdata)),
      .DEPTH(1024)
  ) u_pcie_reads_ram (
      .clk_i,
      .we_i(pcie_reads_ram_we),
      .waddr_i(pcie_reads_ram_waddr),
      .wdata_i(pcie_reads_ram_wdata),
      .re_i(pcie_reads_ram_re),
      .raddr_i(pcie_reads_ram_raddr),
      .rdata_o(pcie_reads_ram_rdata)
  );

  ram_fifo #(
      .WIDTH(151),
      .DEPTH(1024)
  ) u_pcie_writes (
      .clk_i,
      .rst_ni,
      .in_valid_i(pcie_link_wpush_valid),
      .in_ready_o(pcie_writes_in_ready),
      .in_data_i(pcie_link_wpush),
      .out_valid_o(pcie_writes_out_valid),
      .out_ready_i(pcie_link_whead_ready),
      .out_data_o(pcie_writes_out_data),
      .ram_we_o(pcie_writes_ram_we),
      .ram_waddr_o(pcie_writes_ram_waddr),
      .ram_wdata_o(pcie_writes_ram_wdata),
      .ram_re_o(pcie_writes_ram_re),
      .ram_raddr_o(pcie_writes_ram_raddr),
      .ram_rdata_i(pcie_writes_ram_rdata),
      .level_o(pcie_writes_level)
  );

  ram_1r1w #(
      .WIDTH($bits(pcie_writes_ram_wdata)),
      .DEPTH(1024)
  ) u_pcie_writes_ram (
      .clk_i,
      .we_i(pcie_writes_ram_we),
      .waddr_i(pcie_writes_ram_waddr),
      .wdata_i(pcie_writes_ram_wdata),
      .re_i(pcie_writes_ram_re),
      .raddr_i(pcie_writes_ram_raddr),
      .rdata_o(pcie_writes_ram_rdata)
  );

  ram_fifo #(
      .WIDTH(400),
      .DEPTH(1024)
  ) u_pcie_cqes (
      .clk_i,
      .rst_ni,
      .in_valid_i(pcie_link_cpush_valid),
      .in_ready_o(pcie_cqes_in_ready),
      .in_data_i(pcie_link_cpush),
      .out_valid_o(pcie_cqes_out_valid),
      .out_ready_i(pcie_link_chead_ready),
      .out_data_o(pcie_cqes_out_data),
      .ram_we_o(pcie_cqes_ram_we),
      .ram_waddr_o(pcie_cqes_ram_waddr),
      .ram_wdata_o(pcie_cqes_ram_wdata),
      .ram_re_o(pcie_cqes_ram_re),
      .ram_raddr_o(pcie_cqes_ram_raddr),
      .ram_rdata_i(pcie_cqes_ram_rdata),
      .level_o(pcie_cqes_level)
  );

  ram_1r1w #(
      .WIDTH($bits(pcie_cqes_ram_wdata)),
      .DEPTH(1024)
  ) u_pcie_cqes_ram (
      .clk_i,
      .we_i(pcie_cqes_ram_we),
      .waddr_i(pcie_cqes_ram_waddr),
      .wdata_i(pcie_cqes_ram_wdata),
      .re_i(pcie_cqes_ram_re),
      .raddr_i(pcie_cqes_ram_raddr),
      .rdata_o(pcie_cqes_ram_rdata)
  );

  packet_build u_packet_build (
      .clk_i,
      .rst_ni,
      .cfg_stamps_i(csr_cfg_stamps),
      .now_i(now_i),
      .probe_valid_i(path_probe_probe_valid),
      .probe_ready_o(packet_build_probe_ready),
      .probe_qp_i(path_probe_probe_qp),
      .probe_dest_i(path_probe_probe_dest),
      .probe_value_i(path_probe_probe_value),
      .probe_id_i(path_probe_probe_id),
      .building_valid_o(packet_build_building_valid),
      .building_qp_o(packet_build_building_qp),
      .building_psn_o(packet_build_building_psn),
      .cfg_icrc_i(csr_cfg_icrc),
      .hand_valid_i(payload_fetch_hand_valid),
      .hand_ready_o(packet_build_hand_ready),
      .hand_i(payload_fetch_hand),
      .again_valid_i(retransmit_again_valid),
      .again_ready_o(packet_build_again_ready),
      .again_i(retransmit_again),
      .query_valid_o(packet_build_query_valid),
      .query_ready_i(window_query_ready),
      .query_group_o(packet_build_query_group),
      .query_rsp_valid_i(window_query_rsp_valid),
      .query_rsp_tight_i(window_query_rsp_tight),
      .data_valid_o(packet_build_data_valid),
      .data_ready_i(path_select_data_ready),
      .data_dest_o(packet_build_data_dest),
      .data_rsp_valid_i(path_select_data_rsp_valid),
      .data_rsp_port_i(path_select_data_rsp_port),
      .build_valid_o(packet_build_build_valid),
      .build_ready_i(qp_table_build_ready),
      .build_qp_o(packet_build_build_qp),
      .build_psn_o(packet_build_build_psn),
      .build_again_o(packet_build_build_again),
      .build_rsp_valid_i(qp_table_build_rsp_valid),
      .build_rsp_qpn_i(qp_table_build_rsp_qpn),
      .build_rsp_remote_valid_i(qp_table_build_rsp_remote_valid),
      .build_rsp_remote_i(qp_table_build_rsp_remote),
      .rec_valid_o(packet_build_rec_valid),
      .rec_ready_i(replay_store_build_ready),
      .rec_o(packet_build_rec),
      .frame_valid_o(packet_build_frame_valid),
      .frame_ready_i(dat_queue_in_ready),
      .frame_o(packet_build_frame),
      .built_valid_o(packet_build_built_valid),
      .built_qp_o(packet_build_built_qp),
      .built_psn_o(packet_build_built_psn),
      .built_ack_req_o(packet_build_built_ack_req),
      .made_valid_o(packet_build_made_valid),
      .made_slot_o(packet_build_made_slot),
      .made_port_o(packet_build_made_port),
      .made_again_o(packet_build_made_again),
      .cfg_own_ip_i(csr_cfg_own_ip),
      .cfg_own_mac_i(csr_cfg_own_mac),
      .cfg_hop_mac_i(csr_cfg_hop_mac),
      .cfg_peer_ip_i(csr_cfg_peer_ip),
      .cfg_dscp0_i(csr_cfg_dscp0),
      .cfg_dscp1_i(csr_cfg_dscp1),
      .cfg_dscp2_i(csr_cfg_dscp2),
      .cfg_distinct_rtx_i(csr_cfg_distinct_rtx),
      .cfg_ecn_i(csr_cfg_ecn),
      .cfg_trimming_i(csr_cfg_trimming),
      .cfg_ttl_i(csr_cfg_ttl),
      .cfg_data_hdr_i(csr_cfg_data_hdr),
      .cfg_wire_overhead_i(csr_cfg_wire_overhead)
  );

  ram_fifo #(
      .WIDTH($bits(frame_t)),
      .DEPTH(FRAMES)
  ) u_dat_queue (
      .clk_i,
      .rst_ni,
      .in_valid_i(packet_build_frame_valid),
      .in_ready_o(dat_queue_in_ready),
      .in_data_i(packet_build_frame),
      .out_valid_o(dat_queue_out_valid),
      .out_ready_i(egress_arbiter_cls_ready[0]),
      .out_data_o(dat_queue_out_data),
      .ram_we_o(dat_queue_ram_we),
      .ram_waddr_o(dat_queue_ram_waddr),
      .ram_wdata_o(dat_queue_ram_wdata),
      .ram_re_o(dat_queue_ram_re),
      .ram_raddr_o(dat_queue_ram_raddr),
      .ram_rdata_i(dat_queue_ram_rdata),
      .level_o(dat_queue_level)
  );

  ram_1r1w #(
      .WIDTH($bits(dat_queue_ram_wdata)),
      .DEPTH(FRAMES)
  ) u_dat_queue_ram (
      .clk_i,
      .we_i(dat_queue_ram_we),
      .waddr_i(dat_queue_ram_waddr),
      .wdata_i(dat_queue_ram_wdata),
      .re_i(dat_queue_ram_re),
      .raddr_i(dat_queue_ram_raddr),
      .rdata_o(dat_queue_ram_rdata)
  );

  ram_fifo #(
      .WIDTH($bits(frame_t)),
      .DEPTH(FRAMES)
  ) u_ctl_queue (
      .clk_i,
      .rst_ni,
      .in_valid_i(ack_build_frame_valid),
      .in_ready_o(ctl_queue_in_ready),
      .in_data_i(ack_build_frame),
      .out_valid_o(ctl_queue_out_valid),
      .out_ready_i(egress_arbiter_cls_ready[1]),
      .out_data_o(ctl_queue_out_data),
      .ram_we_o(ctl_queue_ram_we),
      .ram_waddr_o(ctl_queue_ram_waddr),
      .ram_wdata_o(ctl_queue_ram_wdata),
      .ram_re_o(ctl_queue_ram_re),
      .ram_raddr_o(ctl_queue_ram_raddr),
      .ram_rdata_i(ctl_queue_ram_rdata),
      .level_o(ctl_queue_level)
  );

  ram_1r1w #(
      .WIDTH($bits(ctl_queue_ram_wdata)),
      .DEPTH(FRAMES)
  ) u_ctl_queue_ram (
      .clk_i,
      .we_i(ctl_queue_ram_we),
      .waddr_i(ctl_queue_ram_waddr),
      .wdata_i(ctl_queue_ram_wdata),
      .re_i(ctl_queue_ram_re),
      .raddr_i(ctl_queue_ram_raddr),
      .rdata_o(ctl_queue_ram_rdata)
  );

  egress_arbiter u_egress_arbiter (
      .clk_i,
      .rst_ni,
      .pfc_valid_i(pause_send_frame_valid),
      .pfc_ready_o(egress_arbiter_pfc_ready),
      .pfc_i(pause_send_frame),
      .cls_valid_i({6'd0, ctl_queue_out_valid, dat_queue_out_valid}),
      .cls_ready_o(egress_arbiter_cls_ready),
      .cls0_i(dat_queue_out_data),
      .cls1_i(ctl_queue_out_data),
      .cls2_i('0),
      .cls3_i('0),
      .cls4_i('0),
      .cls5_i('0),
      .cls6_i('0),
      .cls7_i('0),
      .paused_i(pause_hold_paused),
      .tx_valid_o(egress_arbiter_tx_valid),
      .tx_o(egress_arbiter_tx),
      .tx_cls_o(egress_arbiter_tx_cls),
      .end_valid_o(egress_arbiter_end_valid),
      .end_back_o(egress_arbiter_end_back),
      .end_len_o(egress_arbiter_end_len),
      .end_data_o(egress_arbiter_end_data),
      .end_slot_o(egress_arbiter_end_slot),
      .end_cls_o(egress_arbiter_end_cls),
      .resv_valid_i(tx_scheduler_resv_valid),
      .resv_bytes_i(tx_scheduler_resv_bytes),
      .unresv_valid_i(qp_drain_unresv_valid),
      .unresv_bytes_i(qp_drain_unresv_bytes),
      .cresv_valid_i(ack_build_cresv_valid),
      .cresv_bytes_i(ack_build_cresv_bytes),
      .oresv_valid_i(1'b0),
      .oresv_cls_i('0),
      .oresv_bytes_i('0),
      .egress_free_o(egress_arbiter_egress_free),
      .ctl_free_o(egress_arbiter_ctl_free),
      .half_valid_o(egress_arbiter_half_valid),
      .occ_o(egress_arbiter_occ),
      .cfg_wire_rate_i(csr_cfg_wire_rate),
      .cfg_egress_pool_i(csr_cfg_egress_pool),
      .cfg_sched_i(csr_cfg_sched),
      .cfg_weights_i(csr_cfg_weights)
  );

  port_tx u_port_tx (
      .clk_i,
      .rst_ni,
      .tx_valid_i(egress_arbiter_tx_valid),
      .tx_i(egress_arbiter_tx),
      .end_valid_i(egress_arbiter_end_valid),
      .end_back_i(egress_arbiter_end_back),
      .cfg_icrc_i(csr_cfg_icrc),
      .bank_re_o(port_tx_bank_re),
      .bank_raddr0_o(port_tx_bank_raddr0),
      .bank_raddr1_o(port_tx_bank_raddr1),
      .bank_rdata0_i(replay0_rdata),
      .bank_rdata1_i(replay1_rdata),
      .wire_valid_o(port_tx_wire_valid),
      .wire_sop_o(port_tx_wire_sop),
      .wire_eop_o(port_tx_wire_eop),
      .wire_bytes_o(port_tx_wire_bytes),
      .wire_data_o(port_tx_wire_data),
      .wire_back_o(port_tx_wire_back),
      .gone_valid_o(port_tx_gone_valid),
      .gone_data_o(port_tx_gone_data),
      .gone_slot_o(port_tx_gone_slot)
  );

  port_rx u_port_rx (
      .clk_i,
      .rst_ni,
      .now_i(now_i),
      .wire_valid_i(wire_valid_i),
      .wire_sop_i(wire_sop_i),
      .wire_eop_i(wire_eop_i),
      .wire_bytes_i(wire_bytes_i),
      .wire_data_i(wire_data_i),
      .cfg_data_hdr_i(csr_cfg_data_hdr),
      .cfg_icrc_i(csr_cfg_icrc),
      .word_valid_o(port_rx_word_valid),
      .word_data_o(port_rx_word_data),
      .frame_valid_o(port_rx_frame_valid),
      .frame_hdr_o(port_rx_frame_hdr),
      .frame_len_o(port_rx_frame_len),
      .frame_fcs_ok_o(port_rx_frame_fcs_ok),
      .frame_icrc_ok_o(port_rx_frame_icrc_ok),
      .frame_words_o(port_rx_frame_words),
      .frame_at_o(port_rx_frame_at)
  );

  packet_parse u_packet_parse (
      .clk_i,
      .rst_ni,
      .cfg_stamps_i(csr_cfg_stamps),
      .frame_valid_i(port_rx_frame_valid),
      .frame_hdr_i(port_rx_frame_hdr),
      .frame_len_i(port_rx_frame_len),
      .frame_fcs_ok_i(port_rx_frame_fcs_ok),
      .frame_icrc_ok_i(port_rx_frame_icrc_ok),
      .frame_words_i(port_rx_frame_words),
      .frame_at_i(port_rx_frame_at),
      .cfg_own_ip_i(csr_cfg_own_ip),
      .cfg_own_mac_i(csr_cfg_own_mac),
      .cfg_dscp4_i(csr_cfg_dscp4),
      .cfg_dscp5_i(csr_cfg_dscp5),
      .cfg_data_hdr_i(csr_cfg_data_hdr),
      .cfg_charge_less_i(csr_cfg_charge_less),
      .cfg_ack_extra_i(csr_cfg_ack_extra),
      .cfg_icrc_i(csr_cfg_icrc),
      .out_valid_o(packet_parse_out_valid),
      .out_o(packet_parse_out),
      .out_cls_o(packet_parse_out_cls),
      .out_drop_o(packet_parse_out_drop),
      .out_words_o(packet_parse_out_words),
      .pfc_valid_o(packet_parse_pfc_valid),
      .pfc_classes_o(packet_parse_pfc_classes),
      .pfc_quanta_o(packet_parse_pfc_quanta)
  );

  pause_hold u_pause_hold (
      .clk_i,
      .rst_ni,
      .pfc_valid_i(packet_parse_pfc_valid),
      .pfc_classes_i(packet_parse_pfc_classes),
      .pfc_quanta_i(packet_parse_pfc_quanta),
      .cfg_wire_rate_i(csr_cfg_wire_rate),
      .cfg_pfc_delay_i(csr_cfg_pfc_delay),
      .paused_o(pause_hold_paused)
  );

  ingress_pool #(
      .INGRESS_WORDS(INGRESS_WORDS)
  ) u_ingress_pool (
      .clk_i,
      .rst_ni,
      .word_valid_i(port_rx_word_valid),
      .word_data_i(port_rx_word_data),
      .in_valid_i(packet_parse_out_valid),
      .in_i(packet_parse_out),
      .in_cls_i(packet_parse_out_cls),
      .in_drop_i(packet_parse_out_drop),
      .in_words_i(packet_parse_out_words),
      .ring_we_o(ingress_pool_ring_we),
      .ring_waddr_o(ingress_pool_ring_waddr),
      .ring_wdata_o(ingress_pool_ring_wdata),
      .dat_valid_o(ingress_pool_dat_valid),
      .dat_ready_i(dat_fifo_in_ready),
      .dat_o(ingress_pool_dat),
      .ctl_valid_o(ingress_pool_ctl_valid),
      .ctl_ready_i(ctl_fifo_in_ready),
      .ctl_o(ingress_pool_ctl),
      .rel_valid_i(payload_write_rel_valid),
      .rel_cls_i(3'd0),
      .rel_bytes_i(payload_write_rel_bytes),
      .rel2_valid_i(rx_track_rel2_valid),
      .rel2_cls_i(3'd0),
      .rel2_bytes_i(rx_track_rel2_bytes),
      .relt_valid_i(rx_track_relt_valid),
      .relt_cls_i(3'd1),
      .relt_bytes_i(rx_track_relt_bytes),
      .relc_valid_i(ack_take_relc_valid),
      .relc_cls_i(3'd1),
      .relc_bytes_i(ack_take_relc_bytes),
      .free_valid_i(payload_write_free_valid),
      .free_words_i(payload_write_free_words),
      .cfg_ingress_pool_i(csr_cfg_ingress_pool),
      .drop_valid_o(ingress_pool_drop_valid),
      .drop_reason_o(ingress_pool_drop_reason),
      .occ_o(ingress_pool_occ),
      .arr_valid_o(ingress_pool_arr_valid),
      .arr_cls_o(ingress_pool_arr_cls),
      .arr_occ_o(ingress_pool_arr_occ),
      .rel_cls_o(ingress_pool_rel_cls)
  );

  pause_send u_pause_send (
      .clk_i,
      .rst_ni,
      .arr_valid_i(ingress_pool_arr_valid),
      .arr_cls_i(ingress_pool_arr_cls),
      .arr_occ_i(ingress_pool_arr_occ),
      .rel_cls_i(ingress_pool_rel_cls),
      .occ_i(ingress_pool_occ),
      .frame_valid_o(pause_send_frame_valid),
      .frame_ready_i(egress_arbiter_pfc_ready),
      .frame_o(pause_send_frame),
      .xoff_o(pause_send_xoff),
      .xon_o(pause_send_xon),
      .cfg_own_mac_i(csr_cfg_own_mac),
      .cfg_wire_rate_i(csr_cfg_wire_rate),
      .cfg_pfc_enable_i(csr_cfg_pfc_enable),
      .cfg_pfc_delay_i(csr_cfg_pfc_delay),
      .cfg_quanta_i(csr_cfg_quanta),
      .cfg_xoff_i(csr_cfg_xoff),
      .cfg_xon_i(csr_cfg_xon)
  );

  ram_1r1w #(
      .WIDTH($bits(ingress_pool_ring_wdata)),
      .DEPTH(INGRESS_WORDS)
  ) u_ingress_ring (
      .clk_i,
      .we_i(ingress_pool_ring_we),
      .waddr_i(ingress_pool_ring_waddr),
      .wdata_i(ingress_pool_ring_wdata),
      .re_i(payload_write_ring_re),
      .raddr_i(payload_write_ring_raddr),
      .rdata_o(ingress_ring_rdata)
  );

  ram_fifo #(
      .WIDTH($bits(parsed_t)),
      .DEPTH(8192)
  ) u_dat_fifo (
      .clk_i,
      .rst_ni,
      .in_valid_i(ingress_pool_dat_valid),
      .in_ready_o(dat_fifo_in_ready),
      .in_data_i(ingress_pool_dat),
      .out_valid_o(dat_fifo_out_valid),
      .out_ready_i(rx_track_in_ready),
      .out_data_o(dat_fifo_out_data),
      .ram_we_o(dat_fifo_ram_we),
      .ram_waddr_o(dat_fifo_ram_waddr),
      .ram_wdata_o(dat_fifo_ram_wdata),
      .ram_re_o(dat_fifo_ram_re),
      .ram_raddr_o(dat_fifo_ram_raddr),
      .ram_rdata_i(dat_fifo_ram_rdata),
      .level_o(dat_fifo_level)
  );

  ram_1r1w #(
      .WIDTH($bits(dat_fifo_ram_wdata)),
      .DEPTH(8192)
  ) u_dat_fifo_ram (
      .clk_i,
      .we_i(dat_fifo_ram_we),
      .waddr_i(dat_fifo_ram_waddr),
      .wdata_i(dat_fifo_ram_wdata),
      .re_i(dat_fifo_ram_re),
      .raddr_i(dat_fifo_ram_raddr),
      .rdata_o(dat_fifo_ram_rdata)
  );

  ram_fifo #(
      .WIDTH($bits(parsed_t)),
      .DEPTH(8192)
  ) u_ctl_fifo (
      .clk_i,
      .rst_ni,
      .in_valid_i(ingress_pool_ctl_valid),
      .in_ready_o(ctl_fifo_in_ready),
      .in_data_i(ingress_pool_ctl),
      .out_valid_o(ctl_fifo_out_valid),
      .out_ready_i(ack_take_in_ready),
      .out_data_o(ctl_fifo_out_data),
      .ram_we_o(ctl_fifo_ram_we),
      .ram_waddr_o(ctl_fifo_ram_waddr),
      .ram_wdata_o(ctl_fifo_ram_wdata),
      .ram_re_o(ctl_fifo_ram_re),
      .ram_raddr_o(ctl_fifo_ram_raddr),
      .ram_rdata_i(ctl_fifo_ram_rdata),
      .level_o(ctl_fifo_level)
  );

  ram_1r1w #(
      .WIDTH($bits(ctl_fifo_ram_wdata)),
      .DEPTH(8192)
  ) u_ctl_fifo_ram (
      .clk_i,
      .we_i(ctl_fifo_ram_we),
      .waddr_i(ctl_fifo_ram_waddr),
      .wdata_i(ctl_fifo_ram_wdata),
      .re_i(ctl_fifo_ram_re),
      .raddr_i(ctl_fifo_ram_raddr),
      .rdata_o(ctl_fifo_ram_rdata)
  );

  rx_track #(
      .QPS(QPS),
      .DESTS(DESTS),
      .PSNS(PSNS),
      .INGRESS_WORDS(INGRESS_WORDS)
  ) u_rx_track (
      .clk_i,
      .rst_ni,
      .in_valid_i(dat_fifo_out_valid),
      .in_ready_o(rx_track_in_ready),
      .in_i(dat_fifo_out_data),
      .peer_we_o(rx_track_peer_we),
      .peer_waddr_o(rx_track_peer_waddr),
      .peer_wdata_o(rx_track_peer_wdata),
      .peer_re_o(rx_track_peer_re),
      .peer_raddr_o(rx_track_peer_raddr),
      .peer_rdata_i(rx_track_peer_rdata),
      .rctx_we_o(rx_track_rctx_we),
      .rctx_waddr_o(rx_track_rctx_waddr),
      .rctx_wdata_o(rx_track_rctx_wdata),
      .rctx_re_o(rx_track_rctx_re),
      .rctx_raddr_o(rx_track_rctx_raddr),
      .rctx_rdata_i(rx_track_rctx_rdata),
      .ends_we_o(rx_track_ends_we),
      .ends_waddr_o(rx_track_ends_waddr),
      .ends_wdata_o(rx_track_ends_wdata),
      .ends_re_o(rx_track_ends_re),
      .ends_raddr_o(rx_track_ends_raddr),
      .ends_rdata_i(rx_track_ends_rdata),
      .map_valid_o(rx_track_map_valid),
      .map_ready_i(rx_bitmap_req_ready),
      .map_op_o(rx_track_map_op),
      .map_qp_o(rx_track_map_qp),
      .map_psn_o(rx_track_map_psn),
      .map_low_o(rx_track_map_low),
      .map_walk_o(rx_track_map_walk),
      .map_last_o(rx_track_map_last),
      .map_asked_o(rx_track_map_asked),
      .map_rsp_valid_i(rx_bitmap_rsp_valid),
      .map_rsp_ready_o(rx_track_map_rsp_ready),
      .map_rsp_hit_i(rx_bitmap_rsp_hit),
      .map_rsp_psn_i(rx_bitmap_rsp_psn),
      .map_rsp_bits_i(rx_bitmap_rsp_bits),
      .map_rsp_far_i(rx_bitmap_rsp_far),
      .map_rsp_asked_i(rx_bitmap_rsp_asked),
      .map_rsp_more_i(rx_bitmap_rsp_more),
      .deliver_valid_o(rx_track_deliver_valid),
      .deliver_o(rx_track_deliver),
      .deliver_level_i(deliver_fifo_level),
      .answer_valid_o(rx_track_answer_valid),
      .answer_ready_i(ack_hold_in_ready),
      .answer_o(rx_track_answer),
      .sent_valid_i(ack_build_cresv_valid),
      .close_valid_i(doorbell_close_valid),
      .close_ready_o(rx_track_close_ready),
      .close_qpn_i(doorbell_close_qpn),
      .drop_valid_o(rx_track_drop_valid),
      .drop_reason_o(rx_track_drop_reason),
      .recv_valid_o(rx_track_recv_valid),
      .recv_qpn_o(rx_track_recv_qpn),
      .recv_msn_o(rx_track_recv_msn),
      .created_valid_o(rx_track_created_valid),
      .created_qpn_o(rx_track_created_qpn),
      .created_dest_o(rx_track_created_dest),
      .closed_valid_o(rx_track_closed_valid),
      .closed_qpn_o(rx_track_closed_qpn),
      .closed_dest_o(rx_track_closed_dest),
      .dup_valid_o(rx_track_dup_valid),
      .ooo_valid_o(rx_track_ooo_valid),
      .ctrl_drops_o(rx_track_ctrl_drops),
      .rel2_valid_o(rx_track_rel2_valid),
      .rel2_bytes_o(rx_track_rel2_bytes),
      .relt_valid_o(rx_track_relt_valid),
      .relt_bytes_o(rx_track_relt_bytes),
      .cfg_peer_valid_i(csr_cfg_peer_valid),
      .cfg_peer_ip_i(csr_cfg_peer_ip),
      .cfg_range_i(csr_cfg_range),
      .cfg_trimming_i(csr_cfg_trimming),
      .cfg_initial_psn_i(csr_cfg_initial_psn),
      .cfg_wire_overhead_i(csr_cfg_wire_overhead),
      .cfg_nominal_overhead_i(csr_cfg_nominal_overhead)
  );

  ram_1r1w #(
      .WIDTH($bits(rx_track_peer_wdata)),
      .DEPTH(DESTS * QPS)
  ) u_rx_track_peer (
      .clk_i,
      .we_i(rx_track_peer_we),
      .waddr_i(rx_track_peer_waddr),
      .wdata_i(rx_track_peer_wdata),
      .re_i(rx_track_peer_re),
      .raddr_i(rx_track_peer_raddr),
      .rdata_o(rx_track_peer_rdata)
  );

  ram_1r1w #(
      .WIDTH($bits(rx_track_rctx_wdata)),
      .DEPTH(QPS)
  ) u_rx_track_rctx (
      .clk_i,
      .we_i(rx_track_rctx_we),
      .waddr_i(rx_track_rctx_waddr),
      .wdata_i(rx_track_rctx_wdata),
      .re_i(rx_track_rctx_re),
      .raddr_i(rx_track_rctx_raddr),
      .rdata_o(rx_track_rctx_rdata)
  );

  ram_1r1w #(
      .WIDTH($bits(rx_track_ends_wdata)),
      .DEPTH(QPS * PSNS)
  ) u_rx_track_ends (
      .clk_i,
      .we_i(rx_track_ends_we),
      .waddr_i(rx_track_ends_waddr),
      .wdata_i(rx_track_ends_wdata),
      .re_i(rx_track_ends_re),
      .raddr_i(rx_track_ends_raddr),
      .rdata_o(rx_track_ends_rdata)
  );

  sack_bitmap #(
      .PSNS(PSNS)
  ) u_rx_bitmap (
      .clk_i,
      .rst_ni,
      .req_valid_i(rx_track_map_valid),
      .req_ready_o(rx_bitmap_req_ready),
      .req_op_i(rx_track_map_op),
      .req_qp_i(rx_track_map_qp),
      .req_psn_i(rx_track_map_psn),
      .req_end_i('0),
      .req_low_i(rx_track_map_low),
      .req_walk_i(rx_track_map_walk),
      .req_last_i(rx_track_map_last),
      .req_asked_i(rx_track_map_asked),
      .rsp_valid_o(rx_bitmap_rsp_valid),
      .rsp_ready_i(rx_track_map_rsp_ready),
      .rsp_hit_o(rx_bitmap_rsp_hit),
      .rsp_psn_o(rx_bitmap_rsp_psn),
      .rsp_bits_o(rx_bitmap_rsp_bits),
      .rsp_far_o(rx_bitmap_rsp_far),
      .rsp_asked_o(rx_bitmap_rsp_asked),
      .rsp_more_o(rx_bitmap_rsp_more),
      .bits_we_o(rx_bitmap_bits_we),
      .bits_waddr_o(rx_bitmap_bits_waddr),
      .bits_wdata_o(rx_bitmap_bits_wdata),
      .bits_re_o(rx_bitmap_bits_re),
      .bits_raddr_o(rx_bitmap_bits_raddr),
      .bits_rdata_i(rx_bitmap_bits_rdata),
      .mark_we_o(rx_bitmap_mark_we),
      .mark_waddr_o(rx_bitmap_mark_waddr),
      .mark_wdata_o(rx_bitmap_mark_wdata),
      .mark_re_o(rx_bitmap_mark_re),
      .mark_raddr_o(rx_bitmap_mark_raddr),
      .mark_rdata_i(rx_bitmap_mark_rdata),
      .any_we_o(rx_bitmap_any_we),
      .any_waddr_o(rx_bitmap_any_waddr),
      .any_wdata_o(rx_bitmap_any_wdata),
      .any_re_o(rx_bitmap_any_re),
      .any_raddr_o(rx_bitmap_any_raddr),
      .any_rdata_i(rx_bitmap_any_rdata)
  );

  ram_1r1w #(
      .WIDTH($bits(rx_bitmap_bits_wdata)),
      .DEPTH(QPS * PSNS / 64)
  ) u_rx_bitmap_bits (
      .clk_i,
      .we_i(rx_bitmap_bits_we),
      .waddr_i(rx_bitmap_bits_waddr),
      .wdata_i(rx_bitmap_bits_wdata),
      .re_i(rx_bitmap_bits_re),
      .raddr_i(rx_bitmap_bits_raddr),
      .rdata_o(rx_bitmap_bits_rdata)
  );

  ram_1r1w #(
      .WIDTH($bits(rx_bitmap_mark_wdata)),
      .DEPTH(QPS * PSNS / 64)
  ) u_rx_bitmap_mark (
      .clk_i,
      .we_i(rx_bitmap_mark_we),
      .waddr_i(rx_bitmap_mark_waddr),
      .wdata_i(rx_bitmap_mark_wdata),
      .re_i(rx_bitmap_mark_re),
      .raddr_i(rx_bitmap_mark_raddr),
      .rdata_o(rx_bitmap_mark_rdata)
  );

  ram_1r1w #(
      .WIDTH($bits(rx_bitmap_any_wdata)),
      .DEPTH(QPS)
  ) u_rx_bitmap_any (
      .clk_i,
      .we_i(rx_bitmap_any_we),
      .waddr_i(rx_bitmap_any_waddr),
      .wdata_i(rx_bitmap_any_wdata),
      .re_i(rx_bitmap_any_re),
      .raddr_i(rx_bitmap_any_raddr),
      .rdata_o(rx_bitmap_any_rdata)
  );

  ram_fifo #(
      .WIDTH($bits(delivery_t)),
      .DEPTH(2 * INGRESS_WORDS)
  ) u_deliver_fifo (
      .clk_i,
      .rst_ni,
      .in_valid_i(rx_track_deliver_valid),
      .in_ready_o(deliver_fifo_in_ready),
      .in_data_i(rx_track_deliver),
      .out_valid_o(deliver_fifo_out_valid),
      .out_ready_i(payload_write_in_ready),
      .out_data_o(deliver_fifo_out_data),
      .ram_we_o(deliver_fifo_ram_we),
      .ram_waddr_o(deliver_fifo_ram_waddr),
      .ram_wdata_o(deliver_fifo_ram_wdata),
      .ram_re_o(deliver_fifo_ram_re),
      .ram_raddr_o(deliver_fifo_ram_raddr),
      .ram_rdata_i(deliver_fifo_ram_rdata),
      .level_o(deliver_fifo_level)
  );

  ram_1r1w #(
      .WIDTH($bits(deliver_fifo_ram_wdata)),
      .DEPTH(2 * INGRESS_WORDS)
  ) u_deliver_fifo_ram (
      .clk_i,
      .we_i(deliver_fifo_ram_we),
      .waddr_i(deliver_fifo_ram_waddr),
      .wdata_i(deliver_fifo_ram_wdata),
      .re_i(deliver_fifo_ram_re),
      .raddr_i(deliver_fifo_ram_raddr),
      .rdata_o(deliver_fifo_ram_rdata)
  );

  payload_write #(
      .INGRESS_WORDS(INGRESS_WORDS)
  ) u_payload_write (
      .clk_i,
      .rst_ni,
      .cfg_max_payload_i(csr_cfg_max_payload),
      .in_valid_i(deliver_fifo_out_valid),
      .in_ready_o(payload_write_in_ready),
      .in_i(deliver_fifo_out_data),
      .ring_re_o(payload_write_ring_re),
      .ring_raddr_o(payload_write_ring_raddr),
      .ring_rdata_i(ingress_ring_rdata),
      .wr_valid_o(payload_write_wr_valid),
      .wr_ready_i(tlp_engine_wr_ready),
      .wr_first_o(payload_write_wr_first),
      .wr_last_o(payload_write_wr_last),
      .wr_addr_o(payload_write_wr_addr),
      .wr_len_o(payload_write_wr_len),
      .wr_data_o(payload_write_wr_data),
      .rel_valid_o(payload_write_rel_valid),
      .rel_bytes_o(payload_write_rel_bytes),
      .free_valid_o(payload_write_free_valid),
      .free_words_o(payload_write_free_words),
      .comp_valid_o(payload_write_comp_valid),
      .comp_ready_i(completion_comp_ready),
      .comp_qpn_o(payload_write_comp_qpn),
      .comp_msn_o(payload_write_comp_msn),
      .comp_len_o(payload_write_comp_len),
      .comp_dest_o(payload_write_comp_dest)
  );

  ack_hold u_ack_hold (
      .clk_i,
      .rst_ni,
      .in_valid_i(rx_track_answer_valid),
      .in_ready_o(ack_hold_in_ready),
      .in_i(rx_track_answer),
      .held_valid_o(ack_hold_held_valid),
      .held_ready_i(answer_fifo_in_ready),
      .nack_valid_o(ack_hold_nack_valid),
      .nack_ready_i(nack_fifo_in_ready),
      .stamped_o(ack_hold_stamped),
      .head_valid_i(answer_fifo_out_valid),
      .head_ready_o(ack_hold_head_ready),
      .head_i(answer_fifo_out_data),
      .nhead_valid_i(nack_fifo_out_valid),
      .nhead_ready_o(ack_hold_nhead_ready),
      .nhead_i(nack_fifo_out_data),
      .out_valid_o(ack_hold_out_valid),
      .out_ready_i(ack_build_answer_ready),
      .out_o(ack_hold_out),
      .occ_i(ingress_pool_occ[31:0]),
      .tx_valid_i(egress_arbiter_tx_valid),
      .tx_cls_i(egress_arbiter_tx_cls),
      .tx_len_i(egress_arbiter_tx.len),
      .cfg_wire_rate_i(csr_cfg_wire_rate),
      .cfg_pcie_rate_i(csr_cfg_pcie_rate),
      .cfg_charge_less_i(csr_cfg_charge_less),
      .cfg_ack_extra_i(csr_cfg_ack_extra),
      .cfg_icrc_i(csr_cfg_icrc),
      .cfg_penalty_low_i(csr_cfg_penalty_low),
      .cfg_penalty_high_i(csr_cfg_penalty_high),
      .cfg_ack_hold_i(csr_cfg_ack_hold)
  );

  ram_fifo #(
      .WIDTH($bits(reply_t)),
      .DEPTH(1024)
  ) u_answer_fifo (
      .clk_i,
      .rst_ni,
      .in_valid_i(ack_hold_held_valid),
      .in_ready_o(answer_fifo_in_ready),
      .in_data_i(ack_hold_stamped),
      .out_valid_o(answer_fifo_out_valid),
      .out_ready_i(ack_hold_head_ready),
      .out_data_o(answer_fifo_out_data),
      .ram_we_o(answer_fifo_ram_we),
      .ram_waddr_o(answer_fifo_ram_waddr),
      .ram_wdata_o(answer_fifo_ram_wdata),
      .ram_re_o(answer_fifo_ram_re),
      .ram_raddr_o(answer_fifo_ram_raddr),
      .ram_rdata_i(answer_fifo_ram_rdata),
      .level_o(answer_fifo_level)
  );

  ram_1r1w #(
      .WIDTH($bits(answer_fifo_ram_wdata)),
      .DEPTH(1024)
  ) u_answer_fifo_ram (
      .clk_i,
      .we_i(answer_fifo_ram_we),
      .waddr_i(answer_fifo_ram_waddr),
      .wdata_i(answer_fifo_ram_wdata),
      .re_i(answer_fifo_ram_re),
      .raddr_i(answer_fifo_ram_raddr),
      .rdata_o(answer_fifo_ram_rdata)
  );

  ram_fifo #(
      .WIDTH($bits(reply_t)),
      .DEPTH(1024)
  ) u_nack_fifo (
      .clk_i,
      .rst_ni,
      .in_valid_i(ack_hold_nack_valid),
      .in_ready_o(nack_fifo_in_ready),
      .in_data_i(ack_hold_stamped),
      .out_valid_o(nack_fifo_out_valid),
      .out_ready_i(ack_hold_nhead_ready),
      .out_data_o(nack_fifo_out_data),
      .ram_we_o(nack_fifo_ram_we),
      .ram_waddr_o(nack_fifo_ram_waddr),
      .ram_wdata_o(nack_fifo_ram_wdata),
      .ram_re_o(nack_fifo_ram_re),
      .ram_raddr_o(nack_fifo_ram_raddr),
      .ram_rdata_i(nack_fifo_ram_rdata),
      .level_o(nack_fifo_level)
  );

  ram_1r1w #(
      .WIDTH($bits(nack_fifo_ram_wdata)),
      .DEPTH(1024)
  ) u_nack_fifo_ram (
      .clk_i,
      .we_i(nack_fifo_ram_we),
      .waddr_i(nack_fifo_ram_waddr),
      .wdata_i(nack_fifo_ram_wdata),
      .re_i(nack_fifo_ram_re),
      .raddr_i(nack_fifo_ram_raddr),
      .rdata_o(nack_fifo_ram_rdata)
  );

  ack_build u_ack_build (
      .clk_i,
      .rst_ni,
      .answer_valid_i(ack_hold_out_valid),
      .answer_ready_o(ack_build_answer_ready),
      .reply_i(ack_hold_out),
      .ack_valid_o(ack_build_ack_valid),
      .ack_ready_i(path_select_ack_ready),
      .ack_dest_o(ack_build_ack_dest),
      .ack_rsp_valid_i(path_select_ack_rsp_valid),
      .ack_rsp_port_i(path_select_ack_rsp_port),
      .ctl_free_i(egress_arbiter_ctl_free),
      .cresv_valid_o(ack_build_cresv_valid),
      .cresv_bytes_o(ack_build_cresv_bytes),
      .frame_valid_o(ack_build_frame_valid),
      .frame_ready_i(ctl_queue_in_ready),
      .frame_o(ack_build_frame),
      .cfg_own_ip_i(csr_cfg_own_ip),
      .cfg_own_mac_i(csr_cfg_own_mac),
      .cfg_hop_mac_i(csr_cfg_hop_mac),
      .cfg_dscp3_i(csr_cfg_dscp3),
      .cfg_ecn_i(csr_cfg_ecn),
      .cfg_ttl_i(csr_cfg_ttl),
      .cfg_range_i(csr_cfg_range),
      .cfg_ack_extra_i(csr_cfg_ack_extra),
      .cfg_icrc_i(csr_cfg_icrc)
  );

  ram_fifo #(
      .WIDTH(32),
      .DEPTH(SLOTS)
  ) u_built_fifo (
      .clk_i,
      .rst_ni,
      .in_valid_i(packet_build_built_valid),
      .in_ready_o(built_fifo_in_ready),
      .in_data_i({packet_build_built_qp, packet_build_built_psn}),
      .out_valid_o(built_fifo_out_valid),
      .out_ready_i(ack_take_built_ready),
      .out_data_o(built_fifo_out_data),
      .ram_we_o(built_fifo_ram_we),
      .ram_waddr_o(built_fifo_ram_waddr),
      .ram_wdata_o(built_fifo_ram_wdata),
      .ram_re_o(built_fifo_ram_re),
      .ram_raddr_o(built_fifo_ram_raddr),
      .ram_rdata_i(built_fifo_ram_rdata),
      .level_o(built_fifo_level)
  );

  ram_1r1w #(
      .WIDTH($bits(built_fifo_ram_wdata)),
      .DEPTH(SLOTS)
  ) u_built_fifo_ram (
      .clk_i,
      .we_i(built_fifo_ram_we),
      .waddr_i(built_fifo_ram_waddr),
      .wdata_i(built_fifo_ram_wdata),
      .re_i(built_fifo_ram_re),
      .raddr_i(built_fifo_ram_raddr),
      .rdata_o(built_fifo_ram_rdata)
  );

  sack_bitmap #(
      .PSNS(PSNS)
  ) u_sent_bitmap (
      .clk_i,
      .rst_ni,
      .req_valid_i(ack_take_map_valid),
      .req_ready_o(sent_bitmap_req_ready),
      .req_op_i(ack_take_map_op),
      .req_qp_i(ack_take_map_qp),
      .req_psn_i(ack_take_map_psn),
      .req_end_i(ack_take_map_end),
      .req_low_i('0),
      .req_walk_i('0),
      .req_last_i(1'b0),
      .req_asked_i(1'b0),
      .rsp_valid_o(sent_bitmap_rsp_valid),
      .rsp_ready_i(ack_take_map_rsp_ready),
      .rsp_hit_o(sent_bitmap_rsp_hit),
      .rsp_psn_o(sent_bitmap_rsp_psn),
      .rsp_bits_o(sent_bitmap_rsp_bits),
      .rsp_far_o(sent_bitmap_rsp_far),
      .rsp_asked_o(sent_bitmap_rsp_asked),
      .rsp_more_o(sent_bitmap_rsp_more),
      .bits_we_o(sent_bitmap_bits_we),
      .bits_waddr_o(sent_bitmap_bits_waddr),
      .bits_wdata_o(sent_bitmap_bits_wdata),
      .bits_re_o(sent_bitmap_bits_re),
      .bits_raddr_o(sent_bitmap_bits_raddr),
      .bits_rdata_i(sent_bitmap_bits_rdata),
      .mark_we_o(sent_bitmap_mark_we),
      .mark_waddr_o(sent_bitmap_mark_waddr),
      .mark_wdata_o(sent_bitmap_mark_wdata),
      .mark_re_o(sent_bitmap_mark_re),
      .mark_raddr_o(sent_bitmap_mark_raddr),
      .mark_rdata_i('0),
      .any_we_o(sent_bitmap_any_we),
      .any_waddr_o(sent_bitmap_any_waddr),
      .any_wdata_o(sent_bitmap_any_wdata),
      .any_re_o(sent_bitmap_any_re),
      .any_raddr_o(sent_bitmap_any_raddr),
      .any_rdata_i(sent_bitmap_any_rdata)
  );

  ram_1r1w #(
      .WIDTH($bits(sent_bitmap_bits_wdata)),
      .DEPTH(QPS * PSNS / 64)
  ) u_sent_bitmap_bits (
      .clk_i,
      .we_i(sent_bitmap_bits_we),
      .waddr_i(sent_bitmap_bits_waddr),
      .wdata_i(sent_bitmap_bits_wdata),
      .re_i(sent_bitmap_bits_re),
      .raddr_i(sent_bitmap_bits_raddr),
      .rdata_o(sent_bitmap_bits_rdata)
  );

  ram_1r1w #(
      .WIDTH($bits(sent_bitmap_any_wdata)),
      .DEPTH(QPS)
  ) u_sent_bitmap_any (
      .clk_i,
      .we_i(sent_bitmap_any_we),
      .waddr_i(sent_bitmap_any_waddr),
      .wdata_i(sent_bitmap_any_wdata),
      .re_i(sent_bitmap_any_re),
      .raddr_i(sent_bitmap_any_raddr),
      .rdata_o(sent_bitmap_any_rdata)
  );

  ack_take u_ack_take (
      .clk_i,
      .rst_ni,
      .timed_stamped_o(ack_take_timed_stamped),
      .in_valid_i(ctl_fifo_out_valid),
      .in_ready_o(ack_take_in_ready),
      .in_i(ctl_fifo_out_data),
      .purge_valid_i(qp_drain_purge_valid),
      .purge_ready_o(ack_take_purge_ready),
      .purge_qp_i(qp_drain_purge_qp),
      .purge_done_o(ack_take_purge_done),
      .spent_valid_o(ack_take_spent_valid),
      .spent_qp_o(ack_take_spent_qp),
      .check_valid_i(ack_ask_check_valid),
      .check_ready_o(ack_take_check_ready),
      .check_qp_i(ack_ask_check_qp),
      .check_first_i(ack_ask_check_first),
      .check_last_i(ack_ask_check_last),
      .check_rsp_valid_o(ack_take_check_rsp_valid),
      .check_rsp_clear_o(ack_take_check_rsp_clear),
      .built_valid_i(built_fifo_out_valid),
      .built_ready_o(ack_take_built_ready),
      .built_i(built_fifo_out_data),
      .created_valid_i(qp_table_created_valid),
      .created_qpn_i(qp_table_created_qpn),
      .map_valid_o(ack_take_map_valid),
      .map_ready_i(sent_bitmap_req_ready),
      .map_op_o(ack_take_map_op),
      .map_qp_o(ack_take_map_qp),
      .map_psn_o(ack_take_map_psn),
      .map_end_o(ack_take_map_end),
      .map_rsp_valid_i(sent_bitmap_rsp_valid),
      .map_rsp_ready_o(ack_take_map_rsp_ready),
      .map_rsp_hit_i(sent_bitmap_rsp_hit),
      .map_rsp_psn_i(sent_bitmap_rsp_psn),
      .map_rsp_bits_i(sent_bitmap_rsp_bits),
      .work_valid_o(ack_take_work_valid),
      .work_qp_o(ack_take_work_qp),
      .find_valid_o(ack_take_find_valid),
      .find_ready_i(qp_table_find_ready),
      .find_qpn_o(ack_take_find_qpn),
      .find_dest_ip_o(ack_take_find_dest_ip),
      .find_bare_o(ack_take_find_bare),
      .find_rsp_valid_i(qp_table_find_rsp_valid),
      .find_rsp_ok_i(qp_table_find_rsp_ok),
      .find_rsp_qp_i(qp_table_find_rsp_qp),
      .find_rsp_given_i(qp_table_find_rsp_given),
      .find_rsp_cum_i(qp_table_find_rsp_cum),
      .find_rsp_group_i(qp_table_find_rsp_group),
      .find_rsp_dest_i(qp_table_find_rsp_dest),
      .find_rsp_recovers_i(qp_table_find_rsp_recovers),
      .find_rsp_recover_i(qp_table_find_rsp_recover),
      .upd_valid_o(ack_take_upd_valid),
      .upd_ready_i(qp_table_upd_ready),
      .upd_qp_o(ack_take_upd_qp),
      .upd_cum_o(ack_take_upd_cum),
      .upd_learn_o(ack_take_upd_learn),
      .upd_remote_o(ack_take_upd_remote),
      .upd_recovers_o(ack_take_upd_recovers),
      .upd_recover_o(ack_take_upd_recover),
      .upd_done_i(qp_table_upd_done),
      .retire_valid_o(ack_take_retire_valid),
      .retire_ready_i(retransmit_retire_ready),
      .retire_qp_o(ack_take_retire_qp),
      .retire_psn_o(ack_take_retire_psn),
      .retire_discard_o(ack_take_retire_discard),
      .retire_rsp_valid_i(retransmit_retire_rsp_valid),
      .retire_rsp_len_i(retransmit_retire_rsp_len),
      .retire_rsp_group_i(retransmit_retire_rsp_group),
      .retire_rsp_flight_i(retransmit_retire_rsp_flight),
      .retire_rsp_last_i(retransmit_retire_rsp_last),
      .retire_rsp_sent_i(retransmit_retire_rsp_sent),
      .retire_rsp_at_i(retransmit_retire_rsp_at),
      .sub_valid_o(ack_take_sub_valid),
      .sub_ready_i(window_sub_ready),
      .sub_group_o(ack_take_sub_group),
      .sub_bytes_o(ack_take_sub_bytes),
      .lose_valid_o(ack_take_lose_valid),
      .lose_ready_i(retransmit_lose_ready),
      .lose_qp_o(ack_take_lose_qp),
      .lose_psn_o(ack_take_lose_psn),
      .lose_cause_o(ack_take_lose_cause),
      .lose_rsp_valid_i(retransmit_lose_rsp_valid),
      .lose_rsp_queued_i(retransmit_lose_rsp_queued),
      .lose_rsp_fatal_i(retransmit_lose_rsp_fatal),
      .lose_rsp_sent_i(retransmit_lose_rsp_sent),
      .lose_rsp_at_i(retransmit_lose_rsp_at),
      .skip_valid_o(ack_take_skip_valid),
      .skip_dest_o(ack_take_skip_dest),
      .skip_port_o(ack_take_skip_port),
      .probed_valid_o(ack_take_probed_valid),
      .probed_id_o(ack_take_probed_id),
      .probed_good_o(ack_take_probed_good),
      .timed_valid_o(ack_take_timed_valid),
      .timed_nack_o(ack_take_timed_nack),
      .timed_sent_o(ack_take_timed_sent),
      .timed_at_o(ack_take_timed_at),
      .timed_group_o(ack_take_timed_group),
      .timed_arrived_o(ack_take_timed_arrived),
      .timed_rtx_o(ack_take_timed_rtx),
      .timed_word_o(ack_take_timed_word),
      .building_valid_i(packet_build_building_valid),
      .building_qp_i(packet_build_building_qp),
      .building_psn_i(packet_build_building_psn),
      .ack_valid_o(ack_take_ack_valid),
      .ack_ready_i(tx_scheduler_ack_ready),
      .ack_qp_o(ack_take_ack_qp),
      .ack_group_o(ack_take_ack_group),
      .ack_cum_o(ack_take_ack_cum),
      .cover_valid_o(ack_take_cover_valid),
      .cover_ready_i(completion_cover_ready),
      .cover_qp_o(ack_take_cover_qp),
      .cover_cum_o(ack_take_cover_cum),
      .cover_forget_o(ack_take_cover_forget),
      .relc_valid_o(ack_take_relc_valid),
      .relc_bytes_o(ack_take_relc_bytes),
      .drop_valid_o(ack_take_drop_valid),
      .drop_reason_o(ack_take_drop_reason),
      .other_valid_o(ack_take_other_valid),
      .cfg_nominal_overhead_i(csr_cfg_nominal_overhead),
      .cfg_loss_i(csr_cfg_loss)
  );

  timer_wheel #(
      .SLOTS(MSGS)
  ) u_ask_wheel (
      .clk_i,
      .rst_ni,
      .tick_i(tick_i),
      .now_o(ask_wheel_now),
      .arm_valid_i(ack_ask_arm_valid),
      .arm_slot_i(ack_ask_arm_slot),
      .arm_gen_i('0),
      .arm_start_i(ack_ask_arm_start),
      .arm_span_i(ack_ask_arm_span),
      .cancel_valid_i(ack_ask_cancel_valid),
      .cancel_slot_i(ack_ask_cancel_slot),
      .exp_valid_o(ask_wheel_exp_valid),
      .exp_ready_i(ack_ask_exp_ready),
      .exp_slot_o(ask_wheel_exp_slot),
      .exp_gen_o(ask_wheel_exp_gen),
      .exp_tick_o(ask_wheel_exp_tick),
      .running_o(ask_wheel_running),
      .rec_we_o(ask_wheel_rec_we),
      .rec_waddr_o(ask_wheel_rec_waddr),
      .rec_wdata_o(ask_wheel_rec_wdata),
      .rec_re_o(ask_wheel_rec_re),
      .rec_raddr_o(ask_wheel_rec_raddr),
      .rec_rdata_i(ask_wheel_rec_rdata),
      .spoke_we_o(ask_wheel_spoke_we),
      .spoke_waddr_o(ask_wheel_spoke_waddr),
      .spoke_wdata_o(ask_wheel_spoke_wdata),
      .spoke_re_o(ask_wheel_spoke_re),
      .spoke_raddr_o(ask_wheel_spoke_raddr),
      .spoke_rdata_i(ask_wheel_spoke_rdata)
  );

  ram_1r1w #(
      .WIDTH($bits(ask_wheel_rec_wdata)),
      .DEPTH(MSGS)
  ) u_ask_wheel_rec (
      .clk_i,
      .we_i(ask_wheel_rec_we),
      .waddr_i(ask_wheel_rec_waddr),
      .wdata_i(ask_wheel_rec_wdata),
      .re_i(ask_wheel_rec_re),
      .raddr_i(ask_wheel_rec_raddr),
      .rdata_o(ask_wheel_rec_rdata)
  );

  ram_1r1w #(
      .WIDTH($bits(ask_wheel_spoke_wdata)),
      .DEPTH(MSGS > 64 ? 512 : 192)
  ) u_ask_wheel_spoke (
      .clk_i,
      .we_i(ask_wheel_spoke_we),
      .waddr_i(ask_wheel_spoke_waddr),
      .wdata_i(ask_wheel_spoke_wdata),
      .re_i(ask_wheel_spoke_re),
      .raddr_i(ask_wheel_spoke_raddr),
      .rdata_o(ask_wheel_spoke_rdata)
  );

  ack_ask u_ack_ask (
      .clk_i,
      .rst_ni,
      .cfg_timeout_i(csr_cfg_timeout),
      .sent_valid_i(tx_scheduler_sent_valid),
      .sent_ready_i(completion_sent_ready),
      .sent_qp_i(tx_scheduler_sent_qp),
      .sent_msg_i(tx_scheduler_sent_msg),
      .sent_slot_i(tx_scheduler_sent_slot),
      .sent_first_i(tx_scheduler_sent_first),
      .sent_psn_i(tx_scheduler_sent_psn),
      .left_valid_i(completion_left_valid),
      .left_msg_i(completion_left_msg),
      .ticks_i(timer_wheel_now),
      .arm_valid_o(ack_ask_arm_valid),
      .arm_slot_o(ack_ask_arm_slot),
      .arm_start_o(ack_ask_arm_start),
      .arm_span_o(ack_ask_arm_span),
      .cancel_valid_o(ack_ask_cancel_valid),
      .cancel_slot_o(ack_ask_cancel_slot),
      .exp_valid_i(ask_wheel_exp_valid),
      .exp_ready_o(ack_ask_exp_ready),
      .exp_slot_i(ask_wheel_exp_slot),
      .exp_tick_i(ask_wheel_exp_tick),
      .check_valid_o(ack_ask_check_valid),
      .check_ready_i(ack_take_check_ready),
      .check_qp_o(ack_ask_check_qp),
      .check_first_o(ack_ask_check_first),
      .check_last_o(ack_ask_check_last),
      .check_rsp_valid_i(ack_take_check_rsp_valid),
      .check_rsp_clear_i(ack_take_check_rsp_clear),
      .copy_valid_o(ack_ask_copy_valid),
      .copy_done_i(tx_scheduler_copy_done),
      .copy_live_o(ack_ask_copy_live),
      .copy_slot_o(ack_ask_copy_slot),
      .node_we_o(ack_ask_node_we),
      .node_waddr_o(ack_ask_node_waddr),
      .node_wdata_o(ack_ask_node_wdata),
      .node_re_o(ack_ask_node_re),
      .node_raddr_o(ack_ask_node_raddr),
      .node_rdata_i(ack_ask_node_rdata)
  );

  ram_1r1w #(
      .WIDTH($bits(ack_ask_node_wdata)),
      .DEPTH(MSGS)
  ) u_ack_ask_node (
      .clk_i,
      .we_i(ack_ask_node_we),
      .waddr_i(ack_ask_node_waddr),
      .wdata_i(ack_ask_node_wdata),
      .re_i(ack_ask_node_re),
      .raddr_i(ack_ask_node_raddr),
      .rdata_o(ack_ask_node_rdata)
  );

  rtt_sample u_rtt_sample (
      .clk_i,
      .rst_ni,
      .cfg_stamps_i(csr_cfg_stamps),
      .timed_stamped_i(ack_take_timed_stamped),
      .timed_valid_i(ack_take_timed_valid),
      .timed_nack_i(ack_take_timed_nack),
      .timed_sent_i(ack_take_timed_sent),
      .timed_at_i(ack_take_timed_at),
      .probed_valid_i(ack_take_probed_valid),
      .timed_group_i(ack_take_timed_group),
      .timed_dest_i(ack_take_skip_dest),
      .timed_arrived_i(ack_take_timed_arrived),
      .timed_rtx_i(ack_take_timed_rtx),
      .timed_word_i(ack_take_timed_word),
      .probe_valid_i(path_probe_sample_valid),
      .probe_at_i(path_probe_sample_at),
      .sample_valid_o(rtt_sample_sample_valid),
      .sample_origin_o(rtt_sample_sample_origin),
      .sample_group_o(rtt_sample_sample_group),
      .sample_dest_o(rtt_sample_sample_dest),
      .sample_rtt_o(rtt_sample_sample_rtt),
      .unsure_valid_o(rtt_sample_unsure_valid)
  );

  completion #(
      .MSGS(MSGS)
  ) u_completion (
      .clk_i,
      .rst_ni,
      .post_done_valid_i(doorbell_post_done_valid),
      .post_done_ready_o(completion_post_done_ready),
      .post_done_qp_i(doorbell_post_qp),
      .post_done_qpn_i(doorbell_post_qpn),
      .post_done_dest_i(doorbell_post_dest),
      .post_done_open_i(doorbell_post_open),
      .post_done_msg_i(doorbell_post_msg),
      .post_done_len_i(doorbell_post_len),
      .post_done_msn_i(doorbell_post_msn),
      .post_done_cookie_i(doorbell_post_cookie),
      .sent_valid_i(tx_scheduler_sent_valid),
      .sent_ready_o(completion_sent_ready),
      .sent_qp_i(tx_scheduler_sent_qp),
      .sent_msg_i(tx_scheduler_sent_msg),
      .sent_slot_i(tx_scheduler_sent_slot),
      .sent_psn_i(tx_scheduler_sent_psn),
      .cover_valid_i(ack_take_cover_valid),
      .cover_ready_o(completion_cover_ready),
      .cover_qp_i(ack_take_cover_qp),
      .cover_cum_i(ack_take_cover_cum),
      .cover_forget_i(ack_take_cover_forget),
      .comp_valid_i(payload_write_comp_valid),
      .comp_ready_o(completion_comp_ready),
      .comp_qpn_i(payload_write_comp_qpn),
      .comp_msn_i(payload_write_comp_msn),
      .comp_len_i(payload_write_comp_len),
      .comp_dest_i(payload_write_comp_dest),
      .err_valid_i(doorbell_err_valid),
      .err_ready_o(completion_err_ready),
      .err_code_i(doorbell_err_code),
      .err_cookie_i(doorbell_err_cookie),
      .err_qpn_i(doorbell_err_qpn),
      .err_len_i(doorbell_err_len),
      .left_valid_o(completion_left_valid),
      .left_msg_o(completion_left_msg),
      .msg_valid_o(completion_msg_valid),
      .msg_ready_i(doorbell_msg_ready),
      .msg_o(completion_msg),
      .final_valid_o(completion_final_valid),
      .final_ready_i(replay_store_final_ready),
      .final_slot_o(completion_final_slot),
      .done_valid_o(completion_done_valid),
      .done_ready_i(qp_table_done_ready),
      .done_qp_o(completion_done_qp),
      .cqe_valid_o(completion_cqe_valid),
      .cqe_ready_i(tlp_engine_cqe_ready),
      .cqe_addr_o(completion_cqe_addr),
      .cqe_data_o(completion_cqe_data),
      .log_valid_o(completion_log_valid),
      .log_kind_o(completion_log_kind),
      .log_qpn_o(completion_log_qpn),
      .log_msn_o(completion_log_msn),
      .log_len_o(completion_log_len),
      .cmsg_we_o(completion_cmsg_we),
      .cmsg_waddr_o(completion_cmsg_waddr),
      .cmsg_wdata_o(completion_cmsg_wdata),
      .cmsg_re_o(completion_cmsg_re),
      .cmsg_raddr_o(completion_cmsg_raddr),
      .cmsg_rdata_i(completion_cmsg_rdata),
      .cqp_we_o(completion_cqp_we),
      .cqp_waddr_o(completion_cqp_waddr),
      .cqp_wdata_o(completion_cqp_wdata),
      .cqp_re_o(completion_cqp_re),
      .cqp_raddr_o(completion_cqp_raddr),
      .cqp_rdata_i(completion_cqp_rdata),
      .fl_we_o(completion_fl_we),
      .fl_waddr_o(completion_fl_waddr),
      .fl_wdata_o(completion_fl_wdata),
      .fl_re_o(completion_fl_re),
      .fl_raddr_o(completion_fl_raddr),
      .fl_rdata_i(completion_fl_rdata),
      .cfg_cq_base_i(csr_cfg_cq_base),
      .cfg_cq_log2_i(csr_cfg_cq_log2)
  );

  ram_1r1w #(
      .WIDTH($bits(completion_cmsg_wdata)),
      .DEPTH(MSGS)
  ) u_completion_cmsg (
      .clk_i,
      .we_i(completion_cmsg_we),
      .waddr_i(completion_cmsg_waddr),
      .wdata_i(completion_cmsg_wdata),
      .re_i(completion_cmsg_re),
      .raddr_i(completion_cmsg_raddr),
      .rdata_o(completion_cmsg_rdata)
  );

  ram_1r1w #(
      .WIDTH($bits(completion_cqp_wdata)),
      .DEPTH(QPS)
  ) u_completion_cqp (
      .clk_i,
      .we_i(completion_cqp_we),
      .waddr_i(completion_cqp_waddr),
      .wdata_i(completion_cqp_wdata),
      .re_i(completion_cqp_re),
      .raddr_i(completion_cqp_raddr),
      .rdata_o(completion_cqp_rdata)
  );

  ram_1r1w #(
      .WIDTH($bits(completion_fl_wdata)),
      .DEPTH(MSGS)
  ) u_completion_fl (
      .clk_i,
      .we_i(completion_fl_we),
      .waddr_i(completion_fl_waddr),
      .wdata_i(completion_fl_wdata),
      .re_i(completion_fl_re),
      .raddr_i(completion_fl_raddr),
      .rdata_o(completion_fl_rdata)
  );

  assign rx_ready_o = rx_fifo_in_ready;
  assign tlp_valid_o = pcie_link_tlp_valid;
  assign tlp_sop_o = pcie_link_tlp_sop;
  assign tlp_eop_o = pcie_link_tlp_eop;
  assign tlp_hdr_o = pcie_link_tlp_hdr;
  assign tlp_dws_o = pcie_link_tlp_dws;
  assign tlp_data_o = pcie_link_tlp_data;
  assign tlp_back_o = pcie_link_tlp_back;
  assign freed_valid_o = pcie_room_freed_valid;
  assign freed_hdr_o = pcie_room_freed_hdr;
  assign freed_data_o = pcie_room_freed_data;
  assign cqe_valid_o = pcie_link_cqe_valid;
  assign cqe_hdr_o = pcie_link_cqe_hdr;
  assign cqe_data_o = pcie_link_cqe_data;
  assign wire_valid_o = port_tx_wire_valid;
  assign wire_sop_o = port_tx_wire_sop;
  assign wire_eop_o = port_tx_wire_eop;
  assign wire_bytes_o = port_tx_wire_bytes;
  assign wire_data_o = port_tx_wire_data;
  assign wire_back_o = port_tx_wire_back;

endmodule
