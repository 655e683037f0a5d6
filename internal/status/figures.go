package status

import (
	"slices"
	"time"
)

// Figure is one figure of a relay: a metric, lines on the operator's page of the relay, or both. Read calls tell with each value and the
// values of its labels; not at all while the figure is not known.
type Figure struct {
	Lines []Line
	Metric
}

// Line is what people read of a figure. Text writes whole numbers with number.
type Line struct {
	ID, Title string
	Text      func(r *Relay, number func(uint64) string) string
}

// Metric is what Prometheus reads of a figure; the zero Metric is none.
type Metric struct {
	Name, Help string
	Counter    bool // it only grows; else it is a gauge
	Labels     []string
	Read       func(r *Relay, tell func(v float64, labels ...string))
}

// Figures returns the figures of one relay, in the order of the operator's page. No metric is by repository, as strangers name as many
// repositories as they like. To add a figure, add it here: page and metrics follow.
func Figures() []Figure {
	type told = func(v float64, labels ...string)
	return []Figure{
		{said("phase", "phase", func(r *Relay) string { return r.Phase }), Metric{
			"ngit_sync_relay_connected", "1 while the relay is connected, else 0.", false, nil, func(r *Relay, tell told) { tell(oneOrZero(r.Connected)) }}},
		{said("health", "health", func(r *Relay) string { return string(r.Health) }), Metric{
			"ngit_sync_relay_status", "1 healthy, 2 degraded, 3 dead.", false, nil, func(r *Relay, tell told) { tell(r.Health.number()) }}},
		{said("bootstrap", "bootstrap", func(r *Relay) string { return yes(r.Bootstrap) }), Metric{}},
		{said("why", "known as", (*Relay).Why), Metric{}},
		{said("alive", "last connected", func(r *Relay) string { return r.LastAlive.text() }), Metric{}},
		{counted("failures", "failures in a row", func(r *Relay) int { return r.Failures }), Metric{
			"ngit_sync_relay_failures", "Failures in a row.", false, nil, func(r *Relay, tell told) { tell(float64(r.Failures)) }}},
		{said("failing", "failing since", func(r *Relay) string { return r.FailingSince.text() }), Metric{}},
		{said("behind", "incomplete for", func(r *Relay) string { return Duration(r.Behind.Truncate(time.Minute)) }), Metric{
			"graspd_sync_behind_seconds", "For how long something that graspd wants of the relay has not been known to be complete; 0 when all is.", false, nil, func(r *Relay, tell told) { tell(r.Behind.Seconds()) }}},
		{lines(counted("want-repositories", "repositories wanted", func(r *Relay) int { return r.Want.Repositories }), counted("want-roots", "roots wanted", func(r *Relay) int { return r.Want.Roots })), Metric{
			"graspd_sync_wanted", "What graspd wants of the relay, by item: repositories or roots (issues, patches, pull requests).", false, []string{"item"}, func(r *Relay, tell told) { r.Want.tell(tell) }}},
		{lines(counted("confirmed-repositories", "repositories complete", func(r *Relay) int { return r.Confirmed.Repositories }), counted("confirmed-roots", "roots complete", func(r *Relay) int { return r.Confirmed.Roots })), Metric{
			"graspd_sync_confirmed", "How much of what graspd wants of the relay is known to be complete.", false, []string{"item"}, func(r *Relay, tell told) { r.Confirmed.tell(tell) }}},
		{counted("refused", "repositories refused", func(r *Relay) int { return r.Refused }), Metric{}},
		{counted("unproven", "not proven", func(r *Relay) int { return r.Unproven.Items() }), Metric{
			"graspd_sync_unproven", "How much of what graspd wants of the relay was answered in a way that does not prove that it is complete.", false, []string{"item"}, func(r *Relay, tell told) { r.Unproven.tell(tell) }}},
		{counted("mailbox", "participants who write to it", func(r *Relay) int { return r.Mailbox }), Metric{
			"graspd_sync_mailbox_people", "Participants who say that they write to the relay (GRASP-03).", false, nil, func(r *Relay, tell told) { tell(float64(r.Mailbox)) }}},
		{counted("in-flight", "being fetched", func(r *Relay) int { return r.InFlight }), Metric{
			"graspd_sync_in_flight", "Items whose stored events are being fetched.", false, nil, func(r *Relay, tell told) { tell(float64(r.InFlight)) }}},
		{counted("live-subscriptions", "live subscriptions", func(r *Relay) int { return r.LiveREQs }), Metric{
			"graspd_sync_live_subscriptions", "Live subscriptions open at the relay.", false, nil, func(r *Relay, tell told) { tell(float64(r.LiveREQs)) }}},
		{counted("swept", "roots in turns", func(r *Relay) int { return r.SweptRoots }), Metric{
			"graspd_sync_swept_roots", "Roots that do not fit into the relay's limits and are asked for in turns.", false, nil, func(r *Relay, tell told) { tell(float64(r.SweptRoots)) }}},
		{said("turn", "length of a turn", (*Relay).turn), Metric{}},
		{lines(total("live", "events live", func(r *Relay) uint64 { return r.Live }), total("catchup", "events fetched", func(r *Relay) uint64 { return r.Catchup }), total("daily", "events found once a day", func(r *Relay) uint64 { return r.Daily })), Metric{
			"graspd_sync_events_total", "Events that the relay brought first, by how: live, catchup or daily.", true, []string{"source"}, func(r *Relay, tell told) {
				tell(float64(r.Live), "live")
				tell(float64(r.Catchup), "catchup")
				tell(float64(r.Daily), "daily")
			}}},
		{total("gaps-counted", "gaps", func(r *Relay) uint64 { return r.Gaps }), Metric{
			"ngit_sync_gap_events_total", "Events that a live subscription should have brought and did not, found later.", true, nil, func(r *Relay, tell told) { tell(float64(r.Gaps)) }}},
		{total("undelivered", "undelivered", func(r *Relay) uint64 { return r.Undelivered }), Metric{
			"graspd_sync_undelivered_total", "Events that the relay showed it has and did not send.", true, nil, func(r *Relay, tell told) { tell(float64(r.Undelivered)) }}},
		{part("uptime", "uptime", func(r *Relay) *float64 { return r.Uptime }), Metric{
			"graspd_sync_uptime_ratio", "For what part of the time watched the relay was connected, 0 to 1.", false, nil, func(r *Relay, tell told) { ratio(r.Uptime, tell) }}},
		{part("coverage", "coverage", func(r *Relay) *float64 { return r.Coverage }), Metric{
			"graspd_sync_coverage_ratio", "How much of what is stored here the relay has, 0 to 1; absent while not known.", false, nil, func(r *Relay, tell told) { ratio(r.Coverage, tell) }}},
		{lacked("lacked-events", "events that it lacks", func(l *Lacks) uint64 { return l.Events }), Metric{
			"graspd_sync_lacked_events", "Events stored here that the relay lacks of the repositories that name it; absent while not known.", false, nil, func(r *Relay, tell told) {
				if r.Lacks != nil {
					tell(float64(r.Lacks.Events))
				}
			}}},
		{lacked("lacking", "repositories of which it lacks events", func(l *Lacks) uint64 { return uint64(l.Repositories) }), Metric{
			"graspd_sync_lacking_repositories", "Repositories of which the relay lacks any event; absent while not known.", false, nil, func(r *Relay, tell told) {
				if r.Lacks != nil {
					tell(float64(r.Lacks.Repositories))
				}
			}}},
		{said("negentropy", "negentropy (NIP-77)", func(r *Relay) string { return r.Negentropy }), Metric{}},
		{total("rounds", "reconciliation rounds", func(r *Relay) uint64 { return r.Rounds }), Metric{
			"graspd_sync_reconciliation_rounds_total", "Messages of the relay in reconciliations (NIP-77).", true, nil, func(r *Relay, tell told) { tell(float64(r.Rounds)) }}},
		{total("equal", "events reconciled", func(r *Relay) uint64 { return r.Equal }), Metric{
			"graspd_sync_reconciled_events_total", "Events that reconciliations found on both sides, so that they did not travel.", true, nil, func(r *Relay, tell told) { tell(float64(r.Equal)) }}},
		{said("reconciled-bytes", "bytes of reconciliations", func(r *Relay) string { return Bytes(r.NegSent + r.NegReceived).String() }), Metric{
			"graspd_sync_reconciliation_bytes_total", "Bytes of reconciliations, by direction: sent or received.", true, []string{"direction"}, func(r *Relay, tell told) {
				tell(float64(r.NegSent), "sent")
				tell(float64(r.NegReceived), "received")
			}}},
		{lines(total("attempts", "connections attempted", func(r *Relay) uint64 { return r.Attempts }), total("dial-failures", "attempts that failed", func(r *Relay) uint64 { return r.DialFailures })), Metric{
			"ngit_sync_connection_attempts_total", "Connections attempted, by result: success or failure.", true, []string{"result"}, func(r *Relay, tell told) {
				tell(float64(r.DialFailures), "failure")
				tell(float64(r.Attempts-r.DialFailures)-oneOrZero(r.Phase == PhaseDialing), "success")
			}}},
	}
}

func lines(all ...[]Line) []Line { return slices.Concat(all...) }

// said is a line of a text.
func said(id, title string, of func(r *Relay) string) []Line {
	return []Line{{id, title, func(r *Relay, _ func(uint64) string) string { return of(r) }}}
}

// total is a line of a number that only grows, or that is large.
func total(id, title string, of func(r *Relay) uint64) []Line {
	return []Line{{id, title, func(r *Relay, number func(uint64) string) string { return number(of(r)) }}}
}

func counted(id, title string, of func(r *Relay) int) []Line {
	return total(id, title, func(r *Relay) uint64 { return uint64(max(0, of(r))) })
}

const notKnown = "not known"

// part is a line of a ratio that may not be known.
func part(id, title string, of func(r *Relay) *float64) []Line {
	return said(id, title, func(r *Relay) string {
		if x := of(r); x != nil {
			return Percent(*x)
		}
		return notKnown
	})
}

func lacked(id, title string, of func(l *Lacks) uint64) []Line {
	return []Line{{id, title, func(r *Relay, number func(uint64) string) string {
		if r.Lacks == nil {
			return notKnown
		}
		return number(of(r.Lacks))
	}}}
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// turn is how long the turn of roots takes that are asked for in turns.
func (r *Relay) turn() string {
	if r.SweptRoots == 0 {
		return "none"
	}
	return Duration(r.Turn.Duration)
}

// text is the moment for people.
func (m Moment) text() string {
	if m.IsZero() || m.Year() > 9999 {
		return "never"
	}
	return m.UTC().Format("2006-01-02 15:04:05 UTC")
}

func (c Count) tell(tell func(v float64, labels ...string)) {
	tell(float64(c.Repositories), "repositories")
	tell(float64(c.Roots), "roots")
}

func ratio(r *float64, tell func(v float64, labels ...string)) {
	if r != nil {
		tell(*r)
	}
}

func oneOrZero(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
