package metrics

import (
	"context"
	"strconv"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/githttp"
	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitsync"
	"github.com/graspd/graspd/internal/git/hosting"
)

// Git has the parts that keep figures about hosting repositories.
type Git struct {
	Host interface { // nil where another node takes pushes
		Stats() hosting.Stats
		Kept() (repositories int, bytes int64, err error)
	}
	Web       interface{ Stats() githttp.Stats }
	Sync      interface{ Stats() gitsync.Stats } // nil where nothing is fetched from other servers
	Processes func(gitproc.Kind) gitproc.Stats   // nil where no git runs
	Disk      func() *store.Disk                 // nil, or returns nil, where the git data is on the disk of the store
}

// repositories is the state of hosting.
type repositories struct {
	host      hosting.Stats
	web       githttp.Stats
	door      ingest.Stats
	stored    store.Stats
	processes map[gitproc.Kind]gitproc.Stats
	kept      *kept // nil where it could not be read
}

type kept struct {
	repositories int
	bytes        int64
}

func (g *Git) look(from Config) repositories {
	r := repositories{web: g.Web.Stats(), stored: from.Store.Stats(), processes: map[gitproc.Kind]gitproc.Stats{}}
	if from.Door != nil {
		r.door = from.Door.Stats()
	}
	if g.Processes != nil {
		for _, k := range gitproc.Kinds() {
			r.processes[k] = g.Processes(k)
		}
	}
	if g.Host == nil {
		return r
	}
	r.host = g.Host.Stats()
	if n, bytes, err := g.Host.Kept(); err == nil {
		r.kept = &kept{n, bytes}
	}
	return r
}

func ofGit(c *collector, from Config) {
	figures := []figure[repositories]{
		gauges(c, "graspd_git_repositories", "Repositories that have git data.", nil, func(r repositories, to series) {
			if r.kept != nil {
				to.tell(float64(r.kept.repositories))
			}
		}),
		gauges(c, "graspd_git_repository_bytes", "About what the git data of all repositories takes on the disk.", nil, func(r repositories, to series) {
			if r.kept != nil {
				to.tell(float64(r.kept.bytes))
			}
		}),
		gauge(c, "graspd_git_waiting_events", "Events that wait for their git data: durable, and not served.", func(r repositories) int64 { return r.stored.Waiting }),
		gauges(c, "graspd_git_waiting_events_by_kind", "Events that wait for their git data, by kind: announcement (30617), state (30618), pull_request (1618) or update (of a pull request, 1619).", []string{"kind"}, func(r repositories, to series) {
			w := r.stored.WaitingByKind
			to.tell(float64(w.Announcements), "announcement")
			to.tell(float64(w.States), "state")
			to.tell(float64(w.PullRequests), "pull_request")
			to.tell(float64(w.Updates), "update")
		}),
		gauge(c, "graspd_git_waiting_bytes", "Bytes of events that wait for their git data.", func(r repositories) int64 { return r.stored.WaitingBytes }),
		counter(c, "graspd_git_released_events_total", "Events whose wait ended as their git data came.", func(r repositories) (n uint64) {
			for _, some := range r.door.Released {
				n += some
			}
			return n
		}),
		counter(c, "graspd_git_lapsed_events_total", "Events whose git data did not come in time.", func(r repositories) uint64 { return r.door.Lapsed }),
	}
	figures = append(figures, ofPushes(c)...)
	figures = append(figures, ofRequests(c)...)
	figures = append(figures, ofProcesses(c)...)
	fetching := ofGitSync(c)
	disk := diskFigures(c, "graspd_git_disk_", "where the git data is, if that is another file system than the store's")
	if from.Git == nil {
		return
	}
	part(c, func(context.Context) repositories { return from.Git.look(from) }, figures...)
	if from.Git.Disk != nil {
		part(c, func(context.Context) *store.Disk { return from.Git.Disk() }, disk...)
	}
	if from.Git.Sync != nil {
		part(c, func(context.Context) gitsync.Stats { return from.Git.Sync.Stats() }, fetching...)
	}
}

func ofPushes(c *collector) []figure[repositories] {
	return []figure[repositories]{
		counters(c, "graspd_git_pushes_total", "Pushes by what became of them: ok, refused (some of their refs), pack (it was broken, too large or incomplete), busy, too_soon (after a pack from the same address that was refused for the work that it is), unreadable, left (by the client) or nothing (git's question whether it may push).", []string{"outcome"}, func(r repositories, to series) {
			for o, n := range r.web.Pushes {
				to.tell(float64(n), githttp.Outcome(o).String())
			}
		}),
		counters(c, "graspd_git_refused_refs_total", "Refs that pushes were refused, by cause.", []string{"cause"}, func(r repositories, to series) {
			for cause, n := range r.host.Refused {
				if refs.Cause(cause) != refs.None {
					to.tell(float64(n), refs.Cause(cause).String())
				}
			}
		}),
		counters(c, "graspd_git_failed_pushes_total", "Pushes of which nothing came as a whole, by cause: bad_pack, large_pack, costly_pack (work for git), incomplete_pack, shallow_clone (what comes before it is not here), repository_full, owner_full, server_full, pending_full (what waits for its events), mixed (such commits beside others), archived, many_packs (which are to be combined first), many_new (too many new repositories within an hour), gone, busy, left (by the client, or at a stop) or fault (of this server).", []string{"cause"}, func(r repositories, to series) {
			for f, n := range r.host.Failures {
				to.tell(float64(n), hosting.Failure(f).String())
			}
		}),
		histograms(c, "graspd_git_push_seconds", "How long pushes took, by what became of them (as in graspd_git_pushes_total): from their commands, which ask for something, to the verdict, with the wait for a turn and for the pack.", []string{"outcome"}, func(r repositories, to series) {
			for _, o := range []githttp.Outcome{githttp.PushTaken, githttp.PushRefused, githttp.PushBroken, githttp.PushBusy, githttp.PushTooSoon, githttp.PushLeft} {
				to.durations(r.web.Pushed[o], o.String())
			}
		}),
		gauge(c, "graspd_git_pushes_running", "Pushes under way.", func(r repositories) int64 { return r.host.Pushing }),
		gauge(c, "graspd_git_pushes_queued", "Pushes that wait for their turn.", func(r repositories) int { return r.web.Waiting }),
		counter(c, "graspd_git_followed_total", "Repositories that followed another one which the same state rules, without a push of their own.", func(r repositories) uint64 { return r.host.Followed }),
		counter(c, "graspd_git_combined_total", "How often the packs of a repository were combined, as fetches suffered from their number.", func(r repositories) uint64 { return r.host.Combined }),
		gauge(c, "graspd_git_uploads", "Commits that were pushed before the events that name them, and wait for these.", func(r repositories) int { return r.host.Uploads }),
		gauge(c, "graspd_git_upload_bytes", "What commits that were pushed before their events take on the disk.", func(r repositories) int64 { return r.host.UploadBytes }),
	}
}

func ofRequests(c *collector) []figure[repositories] {
	return []figure[repositories]{
		counters(c, "graspd_git_requests_total", "Requests by git's clients, by service, version of the protocol, and how they were answered: from the log, with none (nothing was to be sent), from the cache, from a flight that others share, "+
			"by a pack that was made, by upload-pack (for a push: by the host), refused, or with an error of this server.", []string{"service", "version", "answer"}, func(r repositories, to series) {
			for _, x := range r.web.Requests {
				to.tell(float64(x.Count), x.Service.String(), strconv.Itoa(int(x.Version)), x.Answer.String())
			}
		}),
		counters(c, "graspd_git_archives_total", "Archives (.tar.gz) that were asked for, by answer: none (the client had it), cache, flight (made or sent for others), pack (made), refused or error.", []string{"answer"}, func(r repositories, to series) {
			for _, a := range []githttp.Answer{githttp.FromNone, githttp.FromCache, githttp.FromFlight, githttp.FromPack, githttp.Refused, githttp.Failed} {
				to.tell(float64(r.web.Archives[a]), a.String())
			}
		}),
		histograms(c, "graspd_git_pack_seconds", "How long it took to make a pack, by pack-objects (pack) or upload-pack (upload), with the wait for a process.", []string{"answer"}, func(r repositories, to series) {
			for _, a := range []githttp.Answer{githttp.FromPack, githttp.FromUpload} {
				to.durations(r.web.Made[a], a.String())
			}
		}),
		histograms(c, "graspd_git_fetch_seconds", "How long it took to answer clones and fetches to their end, by where the pack came from (as in graspd_git_requests_total): with the wait for a process, and as fast as the client reads.", []string{"answer"}, func(r repositories, to series) {
			for _, a := range []githttp.Answer{githttp.FromCache, githttp.FromFlight, githttp.FromPack, githttp.FromUpload} {
				to.durations(r.web.Given[a], a.String())
			}
		}),
		gauge(c, "graspd_git_fetches_running", "Requests for packs that are answered now.", func(r repositories) int64 { return r.web.Fetching }),
		counter(c, "graspd_git_received_bytes_total", "Bytes in the bodies of requests by git's clients.", func(r repositories) uint64 { return r.web.In }),
		counter(c, "graspd_git_sent_bytes_total", "Bytes in the bodies of answers to git's clients.", func(r repositories) uint64 { return r.web.Out }),
		counters(c, "graspd_git_cache_requests_total", "Packs that were asked for, by result: hit (kept), shared (being made or sent for others) or miss (made).", []string{"result"}, func(r repositories, to series) {
			to.tell(float64(r.web.Cache.Hits), "hit")
			to.tell(float64(r.web.Cache.Shared), "shared")
			to.tell(float64(r.web.Cache.Misses), "miss")
		}),
		counter(c, "graspd_git_cache_evicted_total", "Kept packs that were removed for want of room (--git-cache).", func(r repositories) uint64 { return r.web.Cache.Evicted }),
		gauge(c, "graspd_git_cache_entries", "Packs that are kept for those who ask again.", func(r repositories) int { return r.web.Cache.Entries }),
		gauge(c, "graspd_git_cache_bytes", "Bytes of the packs that are kept.", func(r repositories) int64 { return r.web.Cache.Bytes }),
		gauge(c, "graspd_git_cache_flights", "Packs that are being made, sent or kept.", func(r repositories) int { return r.web.Cache.Flights }),
	}
}

func ofProcesses(c *collector) []figure[repositories] {
	each := func(read func(gitproc.Stats, func(v float64, labels ...string))) func(repositories, series) {
		return func(r repositories, to series) {
			for k, s := range r.processes {
				read(s, func(v float64, labels ...string) { to.tell(v, append([]string{k.String()}, labels...)...) })
			}
		}
	}
	one := func(read func(gitproc.Stats) float64) func(repositories, series) {
		return each(func(s gitproc.Stats, tell func(float64, ...string)) { tell(read(s)) })
	}
	kind := []string{"kind"}
	return []figure[repositories]{
		gauges(c, "graspd_git_processes_running", "Processes of git, by what they are for: fetch, upload or maintenance.", kind, one(func(s gitproc.Stats) float64 { return float64(s.Running) })),
		gauges(c, "graspd_git_processes_queued", "Processes of git that wait for a slot of their kind (--git-processes).", kind, one(func(s gitproc.Stats) float64 { return float64(s.Queued) })),
		counters(c, "graspd_git_processes_refused_total", "Processes of git that were not begun, as too many waited or one had waited for too long.", kind, one(func(s gitproc.Stats) float64 { return float64(s.Refused) })),
		counters(c, "graspd_git_processes_ended_total", "Processes of git that have ended, by how: ok, failed or limit (memory, processor or file size).", append(kind, "outcome"), each(func(s gitproc.Stats, tell func(float64, ...string)) {
			tell(float64(s.Ended-s.Failed), "ok")
			tell(float64(s.Failed-s.ByLimit), "failed")
			tell(float64(s.ByLimit), "limit")
		})),
		counters(c, "graspd_git_processes_cpu_seconds_total", "Processor time of git's processes that have ended.", kind, one(func(s gitproc.Stats) float64 { return s.CPU.Seconds() })),
		histograms(c, "graspd_git_process_wait_seconds", "How long work that got a slot for a process of git had waited for it.", kind, func(r repositories, to series) {
			for k, s := range r.processes {
				to.durations(s.Waited, k.String())
			}
		}),
		gauges(c, "graspd_git_process_most_bytes", "The most memory that one process of git had.", kind, one(func(s gitproc.Stats) float64 { return float64(s.MaxMemory) })),
	}
}
