package metrics

import (
	"context"

	"github.com/graspd/graspd/internal/serve/relay"
)

// clients is the state of the side that serves clients.
type clients struct {
	relay.Stats
	relay.Traffic
}

func ofClients(c *collector, from Relay) {
	part(c, func(context.Context) clients { return clients{from.Stats(), from.Traffic()} },
		gauge(c, "graspd_relay_connections", "Connected clients.", func(p clients) int { return p.Sessions }),
		gauge(c, "graspd_relay_subscriptions", "Open subscriptions of clients.", func(p clients) int { return p.Subscriptions }),
		gauge(c, "graspd_relay_reconciliations", "Open reconciliations of clients (NIP-77).", func(p clients) int { return p.Reconciliations }),
		gauge(c, "graspd_relay_live_bytes", "Bytes of live events that wait for clients; those that several wait for count for each.", func(p clients) int64 { return p.LiveBytes }),
		counter(c, "graspd_relay_connections_total", "Connections of clients accepted.", func(p clients) uint64 { return p.Taken }),
		counter(c, "graspd_relay_turned_away_total", "Connections refused: too many, too fast, or during a shutdown.", func(p clients) uint64 { return p.TurnedAway }),
		counters(c, "graspd_relay_ended_total", "Connections that this relay ended, by reason: slow (live events piled up), much (pings, or large and unfinished messages, beyond what an address may have) or idle.", []string{"reason"}, func(p clients, to series) {
			to.tell(float64(p.TooSlow), "slow")
			to.tell(float64(p.TooQuiet), "idle")
			to.tell(float64(p.TooMuch), "much")
		}),
		counter(c, "graspd_relay_revoked_total", "Subscriptions and reconciliations that this relay ended, as others needed their memory: those of the addresses that held most.", func(p clients) uint64 { return p.Revoked }),
		counters(c, "graspd_relay_refused_events_total", "Events refused before any check, by reason: rate or limit.", []string{"reason"}, func(p clients, to series) {
			to.tell(float64(p.RateLimited), "rate")
			to.tell(float64(p.Refused), "limit")
		}),
		counter(c, "graspd_relay_received_messages_total", "Messages received from clients.", func(p clients) uint64 { return p.Frames }),
		counter(c, "graspd_relay_received_bytes_total", "Bytes in messages received from clients.", func(p clients) uint64 { return p.BytesIn }),
		counter(c, "graspd_relay_sent_events_total", "Events sent to subscriptions, stored and live ones.", func(p clients) uint64 { return p.Events }),
		counter(c, "graspd_relay_sent_bytes_total", "Bytes in all messages sent to clients.", func(p clients) uint64 { return p.BytesOut }),
	)
}
