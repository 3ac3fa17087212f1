//! Who waits for what when the limit comes first, from the hosts through both ends to the network.

use rtl_model::msn_respond;
use rtl_model::rc_pkg::Status;

use super::World;

/// Work requests that are told one by one.
const LISTED: usize = 8;

impl World {
    /// Who waits for what, for a run that does not end.
    pub fn waits(&self) -> Vec<String> {
        let mut out: Vec<_> = self.hosts.unposted().into_iter().collect();
        let work = self.hosts.waits();
        out.extend(work.iter().take(LISTED).map(|(ssn, op)| format!("{op:?}, SSN {}", ssn.0)));
        if work.len() > LISTED {
            out.push(format!("{} more work requests", work.len() - LISTED));
        }
        self.requester_waits(&mut out);
        self.network_waits(&mut out);
        self.responder_waits(&mut out);
        out
    }

    fn requester_waits(&self, out: &mut Vec<String>) {
        let (retire, replay) = (&self.requester.retire, &self.requester.replay);
        if retire.cqe_valid {
            out.push(format!("completion entry of SSN {}, for the host", retire.cqe.ssn.0));
        }
        if replay.failed {
            let retries = replay.fail_status == Status::Retries;
            let why = if retries { "retries" } else { "refused" };
            out.push(format!("the connection has failed: {why}"));
            return;
        }
        let (used, sent, acked) = (replay.used, replay.sent, replay.acked.0);
        out.push(format!("replay store: {used} packets from PSN {acked}, {sent} of them sent"));
        if replay.posted > 0 {
            let depth =
                if replay.stall_depth { ", the next for READs and ATOMICs before it" } else { "" };
            out.push(format!("{} work requests to be sent{depth}", replay.posted));
        }
        if replay.tx_valid {
            out.push(format!("request of PSN {}, for the wire", replay.tx.psn.0));
        }
        out.push(match (replay.timeout, replay.timer) {
            (0, _) => "timer: off, AckTimeout is 0".to_owned(),
            (_, 0) => "timer: stands".to_owned(),
            (timeout, timer) => format!("timer: {timer} of {timeout} ns"),
        });
        out.push(format!("retries left: {}", replay.retries));
    }

    fn network_waits(&self, out: &mut Vec<String>) {
        let now = self.clock;
        let packet = |what: &str, psn: u32, at: u64, count: usize| {
            let due = if at <= now { "for the responder".into() } else { format!("until {at} ns") };
            format!("{count} {what} under way: PSN {psn}, {due}")
        };
        if let Some((at, request, count)) = self.requests.under_way() {
            out.push(packet("requests", request.psn.0, at, count));
        }
        if let Some((at, response, count)) = self.responses.under_way() {
            out.push(packet("answers", response.psn.0, at, count));
        }
    }

    fn responder_waits(&self, out: &mut Vec<String>) {
        let respond = &self.responder.respond;
        if let Some((at, _)) = self.atomic {
            out.push(format!("atomic operation in the responder's memory, until {at} ns"));
        } else if respond.state == msn_respond::State::Asking {
            out.push("atomic operation, for the responder's memory".to_owned());
        }
        if respond.rsp_valid {
            out.push(format!("answer of PSN {}, for the wire", respond.rsp.psn.0));
        }
        out.push(format!("responder expects PSN {}", respond.expected.0));
    }
}
