package metrics

import (
	"context"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"graspd/internal/admin"
	"graspd/internal/grasp"
	"graspd/internal/plan"
	"graspd/internal/store"
)

// engine tells of the relays that hold a slot.
type engine struct {
	from  Sync
	store interface{ Stats() store.Stats }

	tracked, connectedAll, dead                  *family
	connected, attempts, status, failures, gaps  *family
	wanted, confirmed, inFlight, live, swept     *family
	events, undelivered, rounds, negBytes, equal *family
	uptime, coverage, behind                     *family
	lacked, lacking                              *family
	saved                                        *family
}

func newSync(b *book, c Config) part {
	e := engine{from: c.Sync, store: c.Store}
	e.tracked = b.gauge("ngit_sync_relays_tracked_total", "Relays that hold a slot.")
	e.connectedAll = b.gauge("ngit_sync_relays_connected_total", "Relays that are connected.")
	e.dead = b.gauge("ngit_sync_relays_dead_total", "Relays that are dead: failing without a break for --sync-dead-after.")
	e.connected = b.gauge("ngit_sync_relay_connected", "1 while the relay is connected, else 0.", "relay")
	e.attempts = b.counter("ngit_sync_connection_attempts_total", "Connections attempted, by result: success or failure.", "relay", "result")
	e.status = b.gauge("ngit_sync_relay_status", "1 healthy, 2 degraded, 3 dead.", "relay")
	e.failures = b.gauge("ngit_sync_relay_failures", "Failures in a row.", "relay")
	e.gaps = b.counter("ngit_sync_gap_events_total", "Events that a live subscription should have brought and did not, found later.", "relay")
	e.wanted = b.gauge("graspd_sync_wanted", "What is wanted of the relay, by item: repositories or roots (issues, patches, pull requests).", "relay", "item")
	e.confirmed = b.gauge("graspd_sync_confirmed", "What of it is known to be complete.", "relay", "item")
	e.behind = b.gauge("graspd_sync_behind_seconds", "For how long something wanted has not been confirmed; 0 when all is.", "relay")
	e.inFlight = b.gauge("graspd_sync_in_flight", "Items whose stored events are being fetched.", "relay")
	e.live = b.gauge("graspd_sync_live_subscriptions", "Live subscriptions open there.", "relay")
	e.swept = b.gauge("graspd_sync_swept_roots", "Roots that do not fit into the relay's limits and are asked for in turns.", "relay")
	e.events = b.counter("graspd_sync_events_total", "Events that the relay brought first, by how: live, catchup or daily.", "relay", "source")
	e.undelivered = b.counter("graspd_sync_undelivered_total", "Events that the relay showed it has and did not send.", "relay")
	e.rounds = b.counter("graspd_sync_reconciliation_rounds_total", "Messages of the relay in reconciliations (NIP-77).", "relay")
	e.negBytes = b.counter("graspd_sync_reconciliation_bytes_total", "Bytes of reconciliations, by direction: sent or received.", "relay", "direction")
	e.equal = b.counter("graspd_sync_reconciled_events_total", "Events that reconciliations found on both sides, so that they did not travel.", "relay")
	e.saved = b.gauge("graspd_sync_saved_bytes", "About what reconciliations have saved against a transfer of everything compared, over the relays that hold a slot: "+
		"events that did not travel, at the mean size on the disk, less the messages.")
	e.uptime = b.gauge("graspd_sync_uptime_ratio", "For what part of the time watched the relay was connected, 0 to 1.", "relay")
	e.coverage = b.gauge("graspd_sync_coverage_ratio", "How much of what is stored here the relay has, 0 to 1; absent while not known.", "relay")
	e.lacked = b.gauge("graspd_sync_lacked_events", "Events stored here that the relay lacks of the repositories that name it; absent while not known.", "relay")
	e.lacking = b.gauge("graspd_sync_lacking_repositories", "Repositories of which it lacks any; absent while not known.", "relay")
	return e
}

func (e engine) collect(ctx context.Context, to chan<- prometheus.Metric) {
	if e.from == nil {
		return
	}
	relays := e.from.Relays(ctx)
	var connected, dead, equal, neg float64
	for _, r := range relays {
		e.one(to, r)
		connected += oneOrZero(r.Connected)
		dead += oneOrZero(r.Health == plan.Dead)
		equal += float64(r.Counters.Equal)
		neg += float64(r.Counters.NegSent + r.Counters.NegReceived)
	}
	e.tracked.tell(to, float64(len(relays)))
	e.connectedAll.tell(to, connected)
	e.dead.tell(to, dead)
	st := e.store.Stats()
	if st.Events > 0 {
		e.saved.tell(to, equal*float64(st.DiskBytes)/float64(st.Events)-neg)
	}
}

// one tells of one relay.
func (e engine) one(to chan<- prometheus.Metric, r admin.Relay) {
	u, c := label(r.URL), r.Counters
	e.connected.tell(to, oneOrZero(r.Connected), u)
	e.attempts.tell(to, float64(c.DialFailures), u, "failure")
	e.attempts.tell(to, float64(c.Attempts-c.DialFailures)-oneOrZero(r.Phase == "dialing"), u, "success")
	e.status.tell(to, float64(r.Health), u)
	e.failures.tell(to, float64(r.Failures), u)
	e.gaps.tell(to, float64(c.Gaps), u)
	e.wanted.tell(to, float64(r.Want.Repositories), u, "repositories")
	e.wanted.tell(to, float64(r.Want.Roots), u, "roots")
	e.confirmed.tell(to, float64(r.Confirmed.Repositories), u, "repositories")
	e.confirmed.tell(to, float64(r.Confirmed.Roots), u, "roots")
	e.behind.tell(to, r.Behind.Seconds(), u)
	e.inFlight.tell(to, float64(r.InFlight), u)
	e.live.tell(to, float64(r.LiveREQs), u)
	e.swept.tell(to, float64(r.SweptRoots), u)
	e.events.tell(to, float64(c.Live), u, "live")
	e.events.tell(to, float64(c.Catchup), u, "catchup")
	e.events.tell(to, float64(c.Daily), u, "daily")
	e.undelivered.tell(to, float64(c.Undelivered), u)
	e.rounds.tell(to, float64(c.Rounds), u)
	e.negBytes.tell(to, float64(c.NegSent), u, "sent")
	e.negBytes.tell(to, float64(c.NegReceived), u, "received")
	e.equal.tell(to, float64(c.Equal), u)
	if up, ok := r.Uptime.Ratio(); ok {
		e.uptime.tell(to, up, u)
	}
	if r.Coverage != nil {
		e.coverage.tell(to, *r.Coverage, u)
	}
	if r.Lacks != nil { // by repository that is on the operator's page: strangers name as many as they like
		e.lacked.tell(to, float64(r.Lacks.Events), u)
		e.lacking.tell(to, float64(r.Lacks.Repositories), u)
	}
}

func label(u grasp.RelayURL) string { return strings.ToValidUTF8(string(u), "\uFFFD") }
