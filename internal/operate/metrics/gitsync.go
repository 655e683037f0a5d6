package metrics

import "github.com/graspd/graspd/internal/git/gitsync"

// ofGitSync returns the figures of fetching from other git servers. They have no values where nothing is fetched.
func ofGitSync(c *collector) []figure[repositories] {
	one := func(read func(gitsync.Stats) float64) func(repositories, series) {
		return func(r repositories, to series) {
			if r.sync != nil {
				to.tell(read(*r.sync))
			}
		}
	}
	return []figure[repositories]{
		gauges(c, "graspd_git_sync_lacking", "Repositories of which git data is missing here that events name and somebody may have.", nil, one(func(s gitsync.Stats) float64 { return float64(s.Plan.Lacking) })),
		gauges(c, "graspd_git_sync_fetches_running", "Fetches from other git servers under way.", nil, one(func(s gitsync.Stats) float64 { return float64(s.Plan.Fetching) })),
		gauges(c, "graspd_git_sync_servers", "Git servers that are known.", nil, one(func(s gitsync.Stats) float64 { return float64(s.Plan.Hosts) })),
		gauges(c, "graspd_git_sync_servers_resting", "Git servers that are left alone for a while, as they fail or ask for it.", nil, one(func(s gitsync.Stats) float64 { return float64(s.Plan.Resting) })),
		counters(c, "graspd_git_sync_fetches_total", "Fetches from other git servers, by outcome: ok (also where the server did not have what is lacked) or failed.", []string{"outcome"}, func(r repositories, to series) {
			if r.sync != nil {
				to.tell(float64(r.sync.Fetches-r.sync.Failed), "ok")
				to.tell(float64(r.sync.Failed), "failed")
			}
		}),
		histograms(c, "graspd_git_sync_fetch_seconds", "How long fetches from other git servers took, by outcome, with the check of what they brought. Those that were stopped from here, as what they were for came otherwise, are left out.", []string{"outcome"}, func(r repositories, to series) {
			if r.sync != nil {
				to.durations(r.sync.Took, "ok")
				to.durations(r.sync.TookFailed, "failed")
			}
		}),
		counters(c, "graspd_git_sync_bytes_total", "Bytes that came by fetches from other git servers.", nil, one(func(s gitsync.Stats) float64 { return float64(s.Bytes) })),
		counters(c, "graspd_git_sync_events_total", "Events whose git data became complete by fetches from other git servers.", nil, one(func(s gitsync.Stats) float64 { return float64(s.Brought) })),
		counters(c, "graspd_git_sync_surveys_total", "Comparisons of what another server advertises with what is served here.", nil, one(func(s gitsync.Stats) float64 { return float64(s.Surveys) })),
		counters(c, "graspd_git_sync_sweeps_total", "How often all repositories were looked at for git data that is missing here.", nil, one(func(s gitsync.Stats) float64 { return float64(s.Sweeps) })),
	}
}
