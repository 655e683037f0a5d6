package status

// Word is one that stands on the operator's page or in what the status command prints, with what it means and where programs find
// the same figure: its path in status.json (or repositories.json, where it begins with "repositories.") and its metric.
type Word struct {
	Name, Meaning string
	JSON, Metric  string // "" = there is none
}

// Words are all of them, in the order in which they are met.
func Words() []Word {
	return append([]Word{
		{"events", "events that are stored here", "store.events", "graspd_store_events"},
		{"repositories", "repository announcements among them", "store.repositories", "graspd_store_repositories"},
		{"on the disk", "bytes that the event store takes", "store.bytes", "graspd_store_bytes"},
		{"clients", "connected clients", "clients.connections", "graspd_relay_connections"},
		{"subscriptions", "their open subscriptions", "clients.subscriptions", "graspd_relay_subscriptions"},
		{"relays followed", "relays that hold a slot (--sync-max-relays): bootstrap relays, those that repositories name, and mailboxes while they are asked", "sync.tracked", "ngit_sync_relays_tracked_total"},
		{"connected", "of these, those with a connection now", "sync.connected", "ngit_sync_relays_connected_total"},
		{"bootstrap", "a relay that was named with --bootstrap", "sync.relays.bootstrap", ""},
		{"mailbox", "a relay to which so many people write who take part here (--mailboxes); where no repository names it, it is asked once a day", "sync.relays.mailbox_people", "graspd_sync_mailbox_people"},
		{"index relay", "one that was named with --index-relays", "sync.relays.index", ""},
	}, append(States(), []Word{
		{"failures", "failures in a row since the relay last brought anything; the last one's cause stands beside", "sync.relays.failures", "ngit_sync_relay_failures"},
		{"wanted", "repositories that are kept here and name the relay, and the root events of these", "sync.relays.want", "graspd_sync_wanted"},
		{"confirmed", "of what is wanted, what is known to be complete here", "sync.relays.confirmed", "graspd_sync_confirmed"},
		{"roots", "root events: issues, patches and pull requests", "sync.relays.want.roots", "graspd_sync_wanted"},
		{"in turns", "root events that do not fit into what the relay bears at once, and are asked for one part after the other", "sync.relays.swept_roots", "graspd_sync_swept_roots"},
		{"refused", "repositories that the relay refuses to be asked for; they are not waited for", "sync.relays.refused_repositories", ""},
		{"gaps", "events that the live subscription should have brought and did not; they were found later", "sync.relays.gaps", "ngit_sync_gap_events_total"},
		{"uptime", "part of the time watched in which the relay was connected", "sync.relays.uptime", "graspd_sync_uptime_ratio"},
		{"coverage", "how much of what is here the relay has, over the repositories that name it", "sync.relays.coverage", "graspd_sync_coverage_ratio"},
		{"last day", "a column for ten minutes: below green for connected, red for not connected and yellow for both; above how many events came first from there, the full height for 1,000", "", ""},
		{"complete", "everything that its relays have of a repository is known to be here, and all git data that events name", "repositories.complete", ""},
		{"incomplete", "not everything that its relays have of a repository is known to be here", "repositories.complete", ""},
		{"lacks git data", "events of a repository name git data that is not here; it is fetched from the servers that they name", "repositories.git", ""},
		{"lacks", "of a relay: events that are here and that it does not have; of git data: events whose git data is not here", "repositories.relays.lacks", "graspd_sync_lacked_events"},
	}...)...)
}

// Tally is how many relays of these hold a slot, are connected and are dead, as everybody tells it.
func Tally(relays []Relay) (tracked, connected, dead int) {
	for i := range relays {
		if relays[i].Connected {
			connected++
		}
		if relays[i].Health == Dead {
			dead++
		}
	}
	return len(relays), connected, dead
}
