package status

import (
	"cmp"
	"slices"
)

// Word is a word on the operator's page or in the output of the status command, with its meaning. JSON and Metric name the same figure for
// programs: its path in status.json (or in repositories.json, where the path begins with "repositories."), and its metric.
type Word struct {
	Name, Meaning string
	JSON, Metric  string // "" is none
}

// Words returns all words, in the order in which people meet them. A word that names a figure of a relay has the metric of that figure.
func Words() []Word {
	all := slices.Concat(ofAll(), States(), ofRelays(), ofRepositories(), ofGit())
	metrics := map[string]string{} // by the title of a line
	for _, f := range Figures() {
		for _, l := range f.Lines {
			metrics[l.Title] = f.Name
		}
	}
	for i := range all {
		all[i].Metric = cmp.Or(all[i].Metric, metrics[all[i].Name])
	}
	return all
}

// ofAll returns the words for the whole relay.
func ofAll() []Word {
	return []Word{
		{"events stored", "all events in the store of this relay", "store.events", "graspd_store_events"},
		{"repositories stored", "how many of these announce a repository (kind 30617)", "store.repositories", "graspd_store_repositories"},
		{"on the disk", "the space that the event store takes; under Git, the space that the repositories take", "store.bytes", "graspd_store_bytes"},
		{"free on the disk", "what is free where the data is; graspd stores nothing more below --disk-floor", "store.disk.free_bytes", "graspd_disk_free_bytes"},
		{"free for git data", "what is free on the disk of the repositories, where that is one of their own", "git_disk.free_bytes", "graspd_git_disk_free_bytes"},
		{"clients", "programs that are connected to this relay", "clients.connections", "graspd_relay_connections"},
		{"subscriptions", "subscriptions that these clients have open", "clients.subscriptions", "graspd_relay_subscriptions"},
		{"relays followed", "relays from which graspd fetches, at most --sync-max-relays: bootstrap relays, relays that repositories name, and mailboxes while graspd asks them", "sync.tracked", "ngit_sync_relays_tracked_total"},
		{"connected", "how many of the relays followed are connected now", "sync.connected", "ngit_sync_relays_connected_total"},
		{"bootstrap", "a relay that you named with --bootstrap", "sync.relays.bootstrap", ""},
		{"mailbox", "a relay to which people who take part here write (--mailboxes); graspd asks it once a day where no repository names it", "sync.relays.mailbox_people", "graspd_sync_mailbox_people"},
		{"index relay", "a relay that you named with --index-relays", "sync.relays.index", ""},
		{"known as", "why graspd knows the relay: you named it, so many repositories name it, or it is the mailbox of so many people", "", ""},
		{"state", "how the relay or the repository stands, in one of the words of this list", "sync.relays.phase", ""},
		{"phase", "what graspd does with the relay now: waiting, idle, dialing, syncing, unproven or live", "sync.relays.phase", ""},
		{"health", "healthy; degraded after a failure; dead after a day of failures", "sync.relays.health", ""},
	}
}

// ofRelays returns the words for one relay, besides its states.
func ofRelays() []Word {
	return []Word{
		{"last connected", "when graspd last reached the relay", "sync.relays.last_alive", ""},
		{"failures in a row", "failures since the relay last brought anything; the cause of the last one stands beside them", "sync.relays.failures", ""},
		{"failing since", "when the first of these failures happened", "sync.relays.failing_since", ""},
		{"incomplete for", "how long something that graspd wants from the relay has not been complete here", "", ""},
		{"wanted", "repositories that are kept here and name the relay, with their root events", "sync.relays.want", "graspd_sync_wanted"},
		{"complete", "graspd knows that everything which the relay has of it is here; for a repository, so with all its relays, and all git data that its events name is here, too", "sync.relays.confirmed", "graspd_sync_confirmed"},
		{"not proven", "the relay has answered, and may have more than it showed: more events of one second than it sends at once, or now these and now those; graspd asks again once a day", "sync.relays.unproven", ""},
		{"partial", "some of a repository's root events are complete here as far as this relay goes, others are not yet", "repositories.relays.confirmed", ""},
		{"unknown", "graspd does not know yet whether anything of the repository is complete here as far as this relay goes", "repositories.relays.confirmed", ""},
		{"roots", "root events, which begin a thread: issues, patches and pull requests; in the list of relays, how many are complete of those wanted", "sync.relays.want.roots", "graspd_sync_wanted"},
		{"repositories", "in the list of relays: how many are complete of those wanted", "sync.relays.want.repositories", "graspd_sync_wanted"},
		{"in turns", "root events that are more than the relay bears in subscriptions at once; graspd asks for one part of them after the other", "sync.relays.swept_roots", "graspd_sync_swept_roots"},
		{"length of a turn", "how long graspd takes to ask for all of these once", "sync.relays.turn_seconds", ""},
		{"refused", "of a relay: repositories that it refuses to tell about, so that graspd does not wait for them; of processes and pushes: how many graspd refused since it started", "sync.relays.refused_repositories", ""},
		{"participants who write to it", "participants whose lists say that they write to the relay, so that graspd looks there for what they wrote", "", ""},
		{"being fetched", "repositories and root events whose stored events graspd is reading from the relay now", "", ""},
		{"live subscriptions", "subscriptions that graspd has open at the relay for what comes next", "", ""},
		{"events", "in the list of relays: events that the relay brought before anybody else did", "sync.relays.events", "graspd_sync_events_total"},
		{"events live", "how many of these a live subscription brought as they were published", "sync.relays.events.live", ""},
		{"events fetched", "how many of these the relay had stored before, and graspd read", "sync.relays.events.catchup", ""},
		{"events found once a day", "how many of these only came when graspd asked for everything again, as it does once a day", "sync.relays.events.daily", ""},
		{"gaps", "events that the live subscription should have brought and did not; graspd found them later", "sync.relays.gaps", ""},
		{"found by", "how graspd found an event that a live subscription missed: by fetching what the relay has stored, or by its daily look, for which it asks for everything again", "", ""},
		{"undelivered", "events that the relay showed it has and did not send", "sync.relays.undelivered", ""},
		{"uptime", "part of the time watched in which the relay was connected", "sync.relays.uptime", ""},
		{"coverage", "how much of what is here the relay has, over the repositories that name it", "sync.relays.coverage", ""},
		{"events that it lacks", "events that are here and that the relay does not have, of the repositories that name it", "", ""},
		{"repositories of which it lacks events", "how many repositories these events belong to", "", ""},
		{"negentropy", "whether the relay compares what it has with what is here (NIP-77), so that only the difference travels", "", ""},
		{"reconciliation", "one such comparison; a round is one message of the relay in it", "", "graspd_sync_reconciliation_rounds_total"},
		{"bytes of reconciliations", "bytes of the messages of all comparisons, in both directions", "", ""},
		{"events reconciled", "events that comparisons found on both sides, so that they did not travel", "", ""},
		{"connections attempted", "how often graspd tried to connect to the relay, and how many of these attempts failed", "", ""},
		{"last day", "one bar for every ten minutes: below, green is connected, red is not connected, yellow is both; above, how many events came first from there, the full height for 1,000", "", ""},
		{"retry", "connects to the relay now instead of at the next time", "", ""},
	}
}

// ofRepositories returns the words for one repository.
func ofRepositories() []Word {
	return []Word{
		{"incomplete", "graspd does not know yet that everything which its relays have of the repository is here", "repositories.complete", ""},
		{"lacks git data", "events of the repository name commits or files that are not here; graspd fetches them from the servers that the events name", "repositories.git", ""},
		{"its relays", "relays that the repository names; for each, whether all that it has of the repository is here", "repositories.relays", ""},
		{"relays that it names", "how many relays the repository names besides this one", "repositories.relays", ""},
		{"here", "events of the repository that are here", "repositories.relays.held", ""},
		{"lacks", "events that are here and that the relay does not have", "repositories.relays.lacks", "graspd_sync_lacked_events"},
	}
}

// ofGit returns the words for the git data of all repositories.
func ofGit() []Word {
	return []Word{
		{"repositories with data", "repositories to which somebody pushed, or for which graspd fetched git data", "git.repositories", "graspd_git_repositories"},
		{"pushes under way", "pushes to this relay that have not ended", "git.pushes_under_way", "graspd_git_pushes_running"},
		{"fetches under way", "clones and fetches from this relay that have not ended", "git.fetches_under_way", "graspd_git_fetches_running"},
		{"events that wait", "events that graspd has stored and serves only once the git data that they name is here", "git.waiting_events", "graspd_git_waiting_events"},
		{"uploads that wait", "commits that somebody pushed before they published the event that names them", "git.uploads", "graspd_git_uploads"},
		{"repositories that lack git data", "how many repositories lack git data, as explained here under that", "git.sync.lacking", "graspd_git_sync_lacking"},
		{"fetches from other servers", "requests for git data that graspd is making to other servers now", "git.sync.fetches", "graspd_git_sync_fetches_running"},
		{"events that these completed", "events whose git data came from other servers since graspd started", "git.sync.completed_events", "graspd_git_sync_events_total"},
		{"repositories checked for what they lack", "how far graspd is in its look through all repositories for git data that is not here", "git.sync.looked_at", ""},
		{"fetch", "processes of git that make packs for those who clone or fetch from here", "git.processes.kind", ""},
		{"upload", "processes of git that check what somebody pushes here, or what graspd fetches from other servers", "git.processes.kind", ""},
		{"maintenance", "processes of git that combine packs and drop what nothing leads to, when nobody waits for git", "git.processes.kind", ""},
		{"running", "processes of git that run now, by what they are for", "git.processes.running", "graspd_git_processes_running"},
		{"queued", "work that waits until one of these processes ends (--git-processes)", "git.processes.queued", "graspd_git_processes_queued"},
		{"ended", "processes of git that have ended since graspd started; those that failed are among them", "git.processes.ended", "graspd_git_processes_ended_total"},
		{"it waits", "until which git data is here; then graspd serves the event", "git.waits.why", ""},
		{"answer to the client", "the first word of what graspd told whoever sent the event", "", "graspd_ingest_refused_total"},
	}
}

// Tally counts how many of the relays hold a slot, are connected and are dead, the same for every page and command.
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
