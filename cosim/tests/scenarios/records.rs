//! The records of section 15: their columns, their rows, and that they add up.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use cosim::driver::Driver;
use cosim::event::Event;
use cosim::host::{LinkEvent, Room};
use cosim::record::Recorder;
use cosim::run::{Mode, Outcome, Run};
use cosim::settings::Settings;
use cosim::world::World;
use rtl_model::types::Drop;

use crate::common::{Both, Log, PAIR, fixture, lockstep, message, run_into, scenario, settings};

/// A row by its columns.
pub type Row = BTreeMap<String, String>;

/// A table's rows; its heading is that of its schema.
pub fn table(folder: &Path, name: &str) -> Vec<Row> {
    let text = fs::read_to_string(folder.join(format!("{name}.csv"))).expect("a table");
    let schema = fs::read_to_string(folder.join(format!("{name}.schema.json"))).expect("a schema");
    let schema: serde_json::Value = serde_json::from_str(&schema).expect("is JSON");
    assert_eq!(schema["record"], name);
    let columns = schema["columns"].as_array().expect("columns");
    let names: Vec<_> = columns.iter().map(|c| c["name"].as_str().expect("a name")).collect();
    let mut lines = text.lines();
    assert_eq!(lines.next().expect("a heading"), names.join(","));
    let row = |line: &str| -> Row {
        let cells: Vec<_> = line.split(',').map(str::to_owned).collect();
        assert_eq!(cells.len(), names.len(), "{line}");
        for (cell, column) in cells.iter().zip(columns) {
            let number = cell.is_empty() || cell.parse::<u64>().is_ok();
            assert!(column["type"] == "text" || number, "{cell} in {column}");
        }
        names.iter().map(|n| (*n).to_owned()).zip(cells).collect()
    };
    lines.map(row).collect()
}

/// A cell that is a number.
pub fn number(row: &Row, column: &str) -> u64 {
    row[column].parse().unwrap_or_else(|e| panic!("{column}: {e} in {row:?}"))
}

/// The text of a scenario with every record on.
fn text(parameters: &str, nics: &str) -> String {
    let rules = "[[switch]]\naction = \"pause\"\nto = \"a\"\nclasses = [0]\nquanta = 0\ncount = 2\n\
                 [[switch]]\naction = \"pause\"\nto = \"a\"\nclasses = [0, 1, 5]\nquanta = 1\n\
                 [[switch]]\naction = \"mark\"\nkind = \"SACK\"\nevery = 2\n";
    let pair = PAIR.replace("address =", &format!("{nics}\naddress ="));
    let head = "limit = \"100us\"\nbuild = \"small\"\n[SimulationParameters]\n";
    let back = "[[message]]\nfrom = \"b\"\nto = \"a\"\nbytes = \"5000B\"\ncount = 2\n";
    format!("{head}{parameters}\n{pair}{}{back}{rules}", message("40960B", "count = 2"))
}

fn left(text: &str, folder: &Path) -> (Run, Vec<cosim::record::NicCounts>) {
    let (run, recorder): (Run, Recorder) = run_into(&settings(text), Mode::ModelOnly, Some(folder));
    assert!(matches!(run.outcome, Outcome::Finished), "{:?}", run.outcome);
    let counts = recorder.counts.clone();
    recorder.finish(&run.world, &()).expect("written");
    (run, counts)
}

/// Rows at each interval and at the end; totals are the run's, intervals add up to them.
#[test]
fn rows_come_at_intervals_and_add_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let every = "NDStatsReportInterval = \"1us\"";
    let nics = "TransportStatsReportInterval = \"2us\"";
    let (run, counts) = left(&text(every, nics), folder.path());
    let end = run.world.clock;
    for (name, every, prefix) in [("nd-stats", 1_000, ""), ("mrc-transport-stats", 2_000, "total_")]
    {
        let rows = table(folder.path(), name);
        let of_a: Vec<_> = rows.iter().filter(|r| r["nic"] == "a").collect();
        assert_eq!(of_a.len() as u64, (end - 1) / every + 1, "{name}");
        for (n, row) in of_a.iter().enumerate() {
            assert_eq!(number(row, "time_ns"), ((n as u64 + 1) * every).min(end));
        }
        let columns = of_a[0].keys().filter(|c| c.starts_with("ivl_"));
        for column in columns {
            let total = column.trim_start_matches("ivl_");
            assert!(total.starts_with(prefix));
            let sum: u64 = of_a.iter().map(|r| number(r, column)).sum();
            assert_eq!(sum, number(of_a[of_a.len() - 1], total), "{column}");
        }
    }
    let last = |name: &str| table(folder.path(), name).into_iter().rev().find(|r| r["nic"] == "a");
    let nd = last("nd-stats").expect("a row");
    assert_eq!(number(&nd, "tx_bytes"), counts[0].bytes_sent);
    assert_eq!(number(&nd, "tx_frames"), counts[0].sent.values().sum::<u64>());
    assert_eq!(number(&nd, "rx_frames"), counts[0].frames_arrived);
    assert_eq!((number(&nd, "rx_bytes"), number(&nd, "rx_drops")), (counts[0].bytes_arrived, 0));
    let transport = last("mrc-transport-stats").expect("a row");
    assert_eq!(number(&transport, "total_messages_posted"), 2);
    assert_eq!(number(&transport, "total_recv_complete"), 2);
    assert_eq!(number(&transport, "total_data_tx"), 20);
    assert_eq!(number(&transport, "total_data_rx"), 4);
    assert_eq!(number(&transport, "total_sack_tx"), counts[0].sent["SACK"]);
}

/// PFC frames by what they say: a row for the port and each class with an ingress pool, none of
/// zeros.
#[test]
fn pauses_are_counted_by_class() {
    let folder = tempfile::tempdir().expect("a folder");
    left(&text("", ""), folder.path());
    let rows = table(folder.path(), "ecn-pfc-stats");
    let seen: Vec<_> = rows
        .iter()
        .map(|r| {
            (
                r["nic"].as_str(),
                r["row"].as_str(),
                ["pfcxoff_tx", "pfcxon_tx", "pfcxoff_rx", "pfcxon_rx"].map(|c| number(r, c)),
            )
        })
        .collect();
    let want =
        [("a", "port", [0, 0, 1, 2]), ("a", "TC0", [0, 0, 1, 2]), ("a", "TC1", [0, 0, 1, 0])];
    assert_eq!(seen, want);
}

/// The pools' record needs the NIC's and the simulation's consent; its series has every change.
#[test]
fn pools_are_recorded_where_both_say_so() {
    let both = "EnableNetworkBufferStatsReporting = true\nEnableNetworkBufferSeries = true\n\
                NetworkBufferStatsReportingInterval = \"500ns\"";
    let folder = tempfile::tempdir().expect("a folder");
    left(&text(both, ""), folder.path());
    assert_eq!(table(folder.path(), "net-buff-stats"), Vec::<Row>::new());
    let folder = tempfile::tempdir().expect("a folder");
    let (run, _) = left(&text(both, "EnableBufferStats = true"), folder.path());
    let rows = table(folder.path(), "net-buff-stats");
    let names = ["RX_TC0_BUFFER", "RX_TC1_BUFFER", "TX_TC0_BUFFER", "TX_TC1_BUFFER"];
    assert_eq!(rows.len() as u64, 2 * 4 * ((run.world.clock - 1) / 500 + 1));
    let series = table(folder.path(), "net-buff-series");
    for (nic, settings) in run.world.settings.nics.iter().enumerate() {
        let sizes = [&settings.buffers.ingress[..2], &settings.buffers.egress[..2]].concat();
        for (name, size) in names.iter().zip(sizes) {
            let of = |rows: &[Row]| -> Vec<Row> {
                let mine = |r: &&Row| r["nic"] == settings.name && r["buffer"] == **name;
                rows.iter().filter(mine).cloned().collect()
            };
            let changes = of(&series);
            assert!(changes.iter().all(|r| number(r, "buffer_max_size_B") == size));
            assert!(changes.windows(2).all(|w| w[0]["occupancy_B"] != w[1]["occupancy_B"]));
            assert!(changes.len() > 4, "NIC {nic}: {name} changes");
            assert_eq!(changes[changes.len() - 1]["occupancy_B"], "0");
            // The samples are what the series says of their clocks.
            for row in of(&rows) {
                let at = number(&row, "time_ns");
                let told = changes.iter().rev().find(|c| number(c, "time_ns") <= at);
                assert_eq!(told.expect("from the start on")["occupancy_B"], row["occupancy_B"]);
            }
        }
    }
}

/// Section 15: the series is every change of every pool, in its clock, no sample of them: what the
/// registers hold, looked at in each clock from 1 on, the first that is recorded.
#[test]
fn the_series_is_every_change_of_a_pool() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = text("EnableNetworkBufferSeries = true", "EnableBufferStats = true");
    let settings = settings(&text);
    let mut recorder = Recorder::new(&World::new(&settings), Some(folder.path())).expect("made");
    let mut held: BTreeMap<(String, String), Vec<(u64, u64)>> = BTreeMap::new();
    let checked = lockstep(&settings, &mut recorder, |world| {
        for (node, own) in world.nodes.iter().zip(&world.settings.nics) {
            let (rx, tx) = (&node.nic.b.ingress_pool.occ, &node.nic.b.egress_arbiter.occ);
            for (side, class, occ) in
                [("RX", 0, rx[0]), ("RX", 1, rx[1]), ("TX", 0, tx[0]), ("TX", 1, tx[1])]
            {
                let name = (own.name.clone(), format!("{side}_TC{class}_BUFFER"));
                let changes = held.entry(name).or_default();
                let moved = changes.last().is_none_or(|last| last.1 != u64::from(occ));
                if moved && world.clock > 0 {
                    changes.push((world.clock, occ.into()));
                }
            }
        }
    });
    recorder.finish(&checked.world, &()).expect("written");
    let mut told: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for row in table(folder.path(), "net-buff-series") {
        let change = (number(&row, "time_ns"), number(&row, "occupancy_B"));
        told.entry((row["nic"].clone(), row["buffer"].clone())).or_default().push(change);
    }
    assert_eq!(told, held);
    assert!(held.len() == 8 && held.values().all(|changes| changes.len() > 4), "{held:?}");
}

/// BUF-1: rows for each class with an entry, in each buffer by itself; of a class that pauses too.
#[test]
fn buf_1_every_class_with_an_entry_has_rows() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = "EnableBufferStats = true\n\
               EgressBufferManager.PoolAllocationVector = [0.5, 0.2, 0.1]\n\
               IngressBufferManager.PoolAllocationVector = [0.4, 0.2, 0.1, 0.1, 0.1]\n";
    let on = "EnableNetworkBufferStatsReporting = true";
    left(&text(on, own).replace("classes = [0, 1, 5]", "classes = [0, 1, 4, 5]"), folder.path());
    let rows = table(folder.path(), "net-buff-stats");
    let of_a: Vec<_> = rows.iter().filter(|r| r["nic"] == "a").collect();
    let sizes: Vec<_> =
        of_a.iter().map(|r| (r["buffer"].as_str(), number(r, "buffer_max_size_B"))).collect();
    let want = [
        ("RX_TC0_BUFFER", 26_212),
        ("RX_TC1_BUFFER", 13_106),
        ("RX_TC2_BUFFER", 6_553),
        ("RX_TC3_BUFFER", 6_553),
        ("RX_TC4_BUFFER", 6_553),
        ("TX_TC0_BUFFER", 128_000),
        ("TX_TC1_BUFFER", 51_200),
        ("TX_TC2_BUFFER", 25_600),
    ];
    assert_eq!(sizes, want);
    let rows = table(folder.path(), "ecn-pfc-stats");
    let named: Vec<_> = rows.iter().map(|r| (r["nic"].as_str(), r["row"].as_str())).collect();
    // Class 5 has no ingress pool.
    assert_eq!(named, [("a", "port"), ("a", "TC0"), ("a", "TC1"), ("a", "TC4")]);
}

/// A row for each packet at both ends; SACKs name what drew them and what they list.
#[test]
fn the_monitor_has_a_row_for_each_packet() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, counts) = left(&text("", "EnableMonitor = true"), folder.path());
    let rows = table(folder.path(), "mrc-monitor");
    let of = |nic: &str, direction: &str, kind: &str| -> Vec<&Row> {
        let mine = |r: &&Row| {
            r["nic"] == nic
                && r["direction"] == direction
                && (kind.is_empty() || r["packet_type"] == kind)
        };
        rows.iter().filter(mine).collect()
    };
    assert_eq!(of("a", "tx", "").len() as u64, counts[0].sent.values().sum::<u64>());
    assert_eq!(of("a", "rx", "").len() as u64, counts[0].frames_arrived);
    let data = of("a", "tx", "data");
    assert_eq!(data.len(), 20);
    assert!(data.iter().all(|r| r["tx_count"] == "1" && r["dscp"] == "trimmable"));
    let asked: Vec<_> = data.iter().filter(|r| r["ar_bit"] == "1").map(|r| &r["bth_psn"]).collect();
    assert_eq!(asked, ["9", "9"], "the last packets (PKT-5)");
    let drawn: Vec<_> = of("a", "rx", "SACK").iter().map(|r| number(r, "sack_psn")).collect();
    assert_eq!(drawn.len(), 20, "one for each full packet (SACK-1)");
    assert!((0..10).all(|psn| drawn.iter().filter(|d| **d == psn).count() == 2), "{drawn:?}");
    assert!(of("a", "rx", "SACK").iter().all(|r| r["sack_list"].is_empty()), "nothing is held");
    let pauses = of("a", "rx", "pause");
    assert_eq!((pauses.len(), pauses[0]["bth_psn"].as_str()), (3, ""));
}

/// What is sent again says why: the cause that the NIC has queued it for.
#[test]
fn the_monitor_has_the_origin_of_a_retransmission() {
    let folder = tempfile::tempdir().expect("a folder");
    let (run, recorder) = run_into(&fixture("lossy.toml"), Mode::ModelOnly, Some(folder.path()));
    assert!(matches!(run.outcome, Outcome::Finished), "{:?}", run.outcome);
    let queued: u64 = recorder.counts.iter().flat_map(|nic| nic.queued.values()).sum();
    recorder.finish(&run.world, &()).expect("written");
    let rows = table(folder.path(), "mrc-monitor");
    let sent = |kind: &str| -> Vec<&Row> {
        rows.iter().filter(|r| r["direction"] == "tx" && r["packet_type"] == kind).collect()
    };
    assert!(sent("data").iter().all(|r| r["rtx_origin"].is_empty() && r["tx_count"] == "1"));
    let again = sent("retransmission");
    // One that is acknowledged while it waits is not sent (RTX-1).
    assert!(!again.is_empty() && again.len() as u64 <= queued, "{} of {queued}", again.len());
    for row in again {
        assert!(number(row, "tx_count") > 1 && !row["rtx_origin"].is_empty(), "{row:?}");
    }
}

/// NAK-1, RX-4: a receiver that takes four packets ahead answers the others with `PSN_OOR_WINDOW`.
/// As many stand in every record, at either end.
#[test]
fn nak_1_psn_oor_window_is_in_every_record() {
    let folder = tempfile::tempdir().expect("a folder");
    let nics = "[[nic]]\nname = \"a\"\naddress = \"10.0.0.1\"\nEnableMonitor = true\n\
        [[nic]]\nname = \"b\"\naddress = \"10.0.0.2\"\nEnableMonitor = true\nMaxPSNRange = 4\n";
    let drops = "[[switch]]\naction = \"drop\"\nkind = \"data\"\nprobability = 0.2\n";
    let head = "limit = \"20ms\"\nbuild = \"small\"\n[defaults]\nInitialAckTimeout = \"20us\"\n";
    left(&format!("{head}{nics}{}{drops}", message("40000B", "count = 4")), folder.path());
    let transport = table(folder.path(), "mrc-transport-stats");
    let of = |nic: &str, column: &str| {
        number(transport.iter().rev().find(|r| r["nic"] == nic).expect("a row"), column)
    };
    let monitor = table(folder.path(), "mrc-monitor");
    let rows = |nic: &str, column: &str, value: &str| {
        monitor.iter().filter(|r| r["nic"] == nic && r[column] == value).count() as u64
    };
    let sent = of("b", "total_nack_tx");
    assert!(sent > 20, "{sent}");
    assert_eq!(of("b", "total_dropped"), sent);
    assert_eq!(of("a", "total_nack_rx"), sent);
    assert_eq!(rows("a", "nack_code", "PSN_OOR_WINDOW"), sent);
    let again = of("a", "total_nack_psn_oor_window");
    assert!(again > 20 && again <= sent, "{again} of {sent}");
    assert_eq!(rows("a", "rtx_origin", "nack_psn_oor_window"), again);
}

/// PCI-3: transfers, bytes and busy time of both directions of the link.
#[test]
fn pci_3_the_link_is_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    left(&text("", ""), folder.path());
    let rows = table(folder.path(), "pcie-stats");
    let b = |direction: &str| {
        rows.iter().find(|r| r["nic"] == "b" && r["direction"] == direction).expect("a row")
    };
    // NIC b reads two messages of 5,000 B in two reads each, and writes 2 × 10 × 8 transfers.
    let up = b("nic_to_host");
    assert_eq!(number(up, "payload_B"), 81_920);
    assert_eq!(number(up, "transfers"), 160 + 4);
    assert_eq!(number(up, "link_B"), 81_920 + 160 * 34 + 4 * 98);
    assert_eq!(number(up, "busy_ns"), number(up, "link_B") * 8_000 / 504_320);
    assert_eq!((number(up, "tx_header_buffer_B"), number(up, "tx_data_buffer_B")), (0, 0));
    let down = b("host_to_nic");
    assert!(number(down, "payload_B") > 10_000 && number(down, "transfers") > 20);
}

/// A slow host behind a small ingress pool, `uet`: 126 Gbps of PCIe at b for 400 Gbps of data, with
/// or without pauses; what stands at b's host stands there for 300 ns.
fn slow_host(pfc: &str) -> Settings {
    let head = "limit = \"8ms\"\nbuild = \"small\"\nprofile = \"uet\"\n[defaults]\n\
                InitialAckTimeout = \"30us\"\nSACKLossMinRetxPkts = 8\n\
                IngressBufferManager.PfcStaticXoffThreshold = [0.5]\n\
                [SimulationParameters]\nNDStatsReportInterval = \"1us\"\n";
    let slow = format!(
        "name = \"b\"\nPCIe.LaneCount = 4\nPCIe.TXDataBufferSize = \"8KB\"\n\
         HostPCIe.DrainDelay = \"300ns\"\nIngressBufferManager.PFCEnableVector = [{pfc}]"
    );
    settings(&scenario(head, &message("400KB", "offset = 8")).replace("name = \"b\"", &slow))
}

/// Header and payload bytes in four buffers.
type Buffers = [(u64, u64); 4];

/// What the four buffers of b's link hold: header and payload bytes of NIC and host, each way.
fn link_buffers(world: &World) -> Buffers {
    let node = &world.nodes[1];
    let (link, room) = (&node.nic.b.pcie_link, &node.nic.b.pcie_room);
    let host = |room: Room| (16 * room.headers, 16 * room.data);
    [
        (16 * u64::from(link.held), link.data_used.into()),
        host(node.host.used()),
        host(node.host.transmit.used()),
        (16 * u64::from(room.hdr_used), 16 * u64::from(room.data_used)),
    ]
}

/// In lockstep: the folder's records, the log, and the buffers at each microsecond.
fn slow_run(pfc: &str, folder: &Path) -> (World, Log, BTreeMap<u64, Buffers>) {
    let settings = slow_host(pfc);
    let mut recorder = Recorder::new(&World::new(&settings), Some(folder)).expect("made");
    let (mut log, mut held) = (Log::default(), BTreeMap::new());
    let checked = lockstep(&settings, &mut Both(&mut recorder, &mut log), |world| {
        if world.clock.is_multiple_of(1_000) {
            held.insert(world.clock, link_buffers(world));
        }
    });
    recorder.finish(&checked.world, &()).expect("written");
    assert_eq!(checked.world.driver.intact, 1);
    (checked.world, log, held)
}

/// Pause and XON frames of class 0 that a NIC has sent, or got, up to a clock.
fn pauses(log: &Log, nic: usize, sent: bool, until: u64) -> [u64; 2] {
    let mut counts = [0; 2];
    for (_, _, event) in log.0.iter().filter(|e| e.1 == nic && e.0 <= until) {
        let bytes = match event {
            Event::Sent { bytes, .. } if sent => bytes,
            Event::Arrived { bytes, .. } if !sent => bytes,
            _ => continue,
        };
        if bytes[12..16] == [0x88, 0x08, 0x01, 0x01] {
            assert_eq!(bytes[16..18], [0, 1], "class 0 alone");
            counts[usize::from(bytes[18..20] == [0, 0])] += 1;
        }
    }
    counts
}

/// PFC-1, PFC-3: every row of `ecn-pfc-stats`, at both ends, against the frames of the log: pauses
/// and XONs of a pool that fills and drains again and again, and nothing is dropped.
#[test]
fn pfc_1_pauses_sent_are_those_of_the_frames() {
    let folder = tempfile::tempdir().expect("a folder");
    let (world, log, _) = slow_run("1", folder.path());
    let rows = table(folder.path(), "ecn-pfc-stats");
    let mut last = BTreeMap::new();
    for row in &rows {
        let (nic, at) = (usize::from(row["nic"] == "b"), number(row, "time_ns"));
        let [sent, got] = [true, false].map(|sent| pauses(&log, nic, sent, at));
        let told = ["pfcxoff_tx", "pfcxon_tx", "pfcxoff_rx", "pfcxon_rx"].map(|c| number(row, c));
        assert_eq!(told, [sent, got].concat()[..], "{row:?}");
        last.insert((row["nic"].clone(), row["row"].clone()), told);
    }
    let of = |nic: &str, row: &str| last[&(nic.to_owned(), row.to_owned())];
    let [xoff, xon, ..] = of("b", "TC0");
    assert!(xoff > 2 && xon > 2, "{xoff} pauses, {xon} XONs");
    assert_eq!((of("b", "port"), of("a", "TC0")), ([xoff, xon, 0, 0], [0, 0, xoff, xon]));
    // A row for each microsecond from the first pause on.
    let pause = |e: &&(u64, usize, Event)| e.1 == 1 && pauses(&log, 1, true, e.0)[0] > 0;
    let first = log.0.iter().find(pause).expect("a pause").0.next_multiple_of(1_000);
    let of_b = rows.iter().filter(|r| r["nic"] == "b" && r["row"] == "TC0");
    assert_eq!(of_b.count() as u64, (world.clock - first).div_ceil(1_000) + 1);
    let drops = table(folder.path(), "nd-stats");
    assert!(drops.iter().all(|r| r["rx_drops"] == "0"), "PFC keeps the pool from overflowing");
}

/// RX-2: without PFC the same pool drops: `rx_drops` of every row, over the run and over the
/// interval, against the drops of the log; both records agree.
#[test]
fn rx_2_drops_of_a_full_pool_are_those_of_the_log() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, log, _) = slow_run("0", folder.path());
    let dropped = |until: u64| {
        let mine = |e: &&(u64, usize, Event)| {
            e.1 == 1 && e.0 <= until && matches!(e.2, Event::Dropped(Drop::Pool))
        };
        log.0.iter().filter(mine).count() as u64
    };
    let rows = table(folder.path(), "nd-stats");
    let mut before = 0;
    for row in rows.iter().filter(|r| r["nic"] == "b") {
        let now = dropped(number(row, "time_ns"));
        let told = [number(row, "rx_drops"), number(row, "ivl_rx_drops")];
        assert_eq!(told, [now, now - before], "{row:?}");
        before = now;
    }
    assert!(before > 3, "{before} drops");
    assert!(rows.iter().filter(|r| r["nic"] == "a").all(|r| r["rx_drops"] == "0"));
    let transport = table(folder.path(), "mrc-transport-stats");
    let last = transport.iter().rev().find(|r| r["nic"] == "b").expect("a row");
    assert_eq!(number(last, "total_rx_drops"), before);
    assert_eq!(table(folder.path(), "ecn-pfc-stats"), Vec::<Row>::new());
}

/// PCI-4: the buffers of the link in mid-run. What stands at the host is worked out from the log:
/// each transfer from its end to the clock in which the host takes it, a header's 16 B and its
/// payload in units of 16.
#[test]
fn pci_4_the_buffers_of_the_link_in_mid_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let (world, log, held) = slow_run("1", folder.path());
    let stands = |at: u64| {
        let (mut headers, mut data) = (0, 0);
        for (taken, _, event) in log.0.iter().filter(|e| e.1 == 1) {
            let (end, addr, len) = match event {
                Event::Link(LinkEvent::Written { end, addr, len }) => (end, *addr, *len),
                Event::Link(LinkEvent::Read { end, addr, .. }) => (end, *addr, 0),
                _ => continue,
            };
            // A completion entry is off the link (PCI-6).
            if (end.clock..*taken).contains(&at) && !Driver::is_entry(addr) {
                headers += 16;
                let dws = (u64::from(len) + addr % 4).div_ceil(4);
                data += 16 * dws.div_ceil(4);
            }
        }
        (headers, data)
    };
    let rows = table(folder.path(), "pcie-stats");
    let mut most = [(0, 0); 4];
    let b: Vec<_> = rows.iter().filter(|r| r["nic"] == "b").collect();
    assert_eq!(b.len() as u64, 2 * world.clock.div_ceil(1_000));
    for row in b.iter().filter(|r| number(r, "time_ns").is_multiple_of(1_000)) {
        let at = number(row, "time_ns");
        let pair = |end: &str| {
            let of = |what: &str| number(row, &format!("{end}_{what}_buffer_B"));
            (of("header"), of("data"))
        };
        let up = row["direction"] == "nic_to_host";
        let now = if up { &held[&at][..2] } else { &held[&at][2..] };
        assert_eq!([pair("tx"), pair("rx")], now, "{row:?}");
        if up {
            assert_eq!(pair("rx"), stands(at), "{row:?}");
        }
        for (most, now) in most[if up { 0 } else { 2 }..].iter_mut().zip(now) {
            *most = (most.0.max(now.0), most.1.max(now.1));
        }
    }
    // 300 ns of 126 Gbps are some 8 transfers of 512 B at the host.
    assert!(most[1].1 > 3_000 && most[0].0 >= 16 && most[0].1 >= 512, "{most:?}");
    let down = rows.iter().filter(|r| r["nic"] == "a" && r["direction"] == "host_to_nic");
    assert!(down.clone().any(|r| number(r, "tx_data_buffer_B") > 0), "a's host holds completions");
    assert!(down.clone().any(|r| number(r, "tx_header_buffer_B") > 0));
}
