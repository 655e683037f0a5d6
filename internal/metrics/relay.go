package metrics

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
)

// clients tells of those who use this relay.
type clients struct {
	from Relay

	open, subscriptions, reconciliations, live *family
	taken, turnedAway, ended, refused          *family
	revoked                                    *family
	frames, bytesIn, bytesOut, events          *family
}

func newRelay(b *book, from Relay) part {
	return clients{
		from:            from,
		open:            b.gauge("graspd_relay_connections", "Connected clients."),
		subscriptions:   b.gauge("graspd_relay_subscriptions", "Their open subscriptions."),
		reconciliations: b.gauge("graspd_relay_reconciliations", "Their open reconciliations (NIP-77)."),
		live:            b.gauge("graspd_relay_live_bytes", "Bytes of live events that wait for clients; those that several wait for count for each."),
		taken:           b.counter("graspd_relay_connections_total", "Connections taken."),
		turnedAway:      b.counter("graspd_relay_turned_away_total", "Connections refused: too many, too fast, or during a shutdown."),
		ended:           b.counter("graspd_relay_ended_total", "Connections that this relay ended, by reason: slow (live events piled up), much (pings, or large and unfinished messages, beyond what an address may have) or idle.", "reason"),
		revoked:         b.counter("graspd_relay_revoked_total", "Subscriptions and reconciliations of those who held most that were ended as others needed their memory."),
		refused:         b.counter("graspd_relay_refused_events_total", "Events refused before any check, by reason: rate or limit.", "reason"),
		frames:          b.counter("graspd_relay_received_messages_total", "Messages received."),
		bytesIn:         b.counter("graspd_relay_received_bytes_total", "Bytes in them."),
		events:          b.counter("graspd_relay_sent_events_total", "Events sent to subscriptions, stored and live ones."),
		bytesOut:        b.counter("graspd_relay_sent_bytes_total", "Bytes in all messages sent."),
	}
}

func (p clients) collect(_ context.Context, to chan<- prometheus.Metric) {
	s, t := p.from.Stats(), p.from.Traffic()
	p.open.tell(to, float64(s.Sessions))
	p.subscriptions.tell(to, float64(s.Subscriptions))
	p.reconciliations.tell(to, float64(s.Reconciliations))
	p.live.tell(to, float64(s.LiveBytes))
	p.taken.tell(to, float64(t.Taken))
	p.turnedAway.tell(to, float64(t.TurnedAway))
	p.ended.tell(to, float64(t.TooSlow), "slow")
	p.ended.tell(to, float64(t.TooQuiet), "idle")
	p.ended.tell(to, float64(t.TooMuch), "much")
	p.revoked.tell(to, float64(t.Revoked))
	p.refused.tell(to, float64(t.RateLimited), "rate")
	p.refused.tell(to, float64(t.Refused), "limit")
	p.frames.tell(to, float64(t.Frames))
	p.bytesIn.tell(to, float64(t.BytesIn))
	p.events.tell(to, float64(t.Events))
	p.bytesOut.tell(to, float64(t.BytesOut))
}
