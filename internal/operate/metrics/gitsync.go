package metrics

import "github.com/graspd/graspd/internal/git/gitsync"

// ofGitSync returns the figures of fetching from other git servers. There are no such series where nothing is fetched.
func ofGitSync(c *collector) []figure[gitsync.Stats] {
	return []figure[gitsync.Stats]{
		gauge(c, "graspd_git_sync_lacking", "Repositories of which git data is missing here that events name and somebody may have.", func(s gitsync.Stats) int { return s.Plan.Lacking }),
		gauge(c, "graspd_git_sync_fetches_running", "Fetches from other git servers under way.", func(s gitsync.Stats) int { return s.Plan.Fetching }),
		gauge(c, "graspd_git_sync_servers", "Git servers that are known.", func(s gitsync.Stats) int { return s.Plan.Hosts }),
		gauge(c, "graspd_git_sync_servers_resting", "Git servers that are left alone for a while, as they fail or ask for it.", func(s gitsync.Stats) int { return s.Plan.Resting }),
		counters(c, "graspd_git_sync_fetches_total", "Fetches from other git servers, by outcome: ok (also where the server did not have what is lacked) or failed.", []string{"outcome"}, func(s gitsync.Stats, to series) {
			to.tell(float64(s.Fetches-s.Failed), "ok")
			to.tell(float64(s.Failed), "failed")
		}),
		histograms(c, "graspd_git_sync_fetch_seconds", "How long fetches from other git servers took, by outcome, with the check of what they brought. Those that were stopped from here, as what they were for came otherwise, are left out.", []string{"outcome"}, func(s gitsync.Stats, to series) {
			to.durations(s.Took, "ok")
			to.durations(s.TookFailed, "failed")
		}),
		counter(c, "graspd_git_sync_bytes_total", "Bytes that came by fetches from other git servers.", func(s gitsync.Stats) uint64 { return s.Bytes }),
		counter(c, "graspd_git_sync_events_total", "Events whose git data became complete by fetches from other git servers.", func(s gitsync.Stats) uint64 { return s.Brought }),
		counter(c, "graspd_git_sync_surveys_total", "Comparisons of what another server advertises with what is served here.", func(s gitsync.Stats) uint64 { return s.Surveys }),
		counter(c, "graspd_git_sync_sweeps_total", "How often all repositories were looked at for git data that is missing here.", func(s gitsync.Stats) uint64 { return s.Sweeps }),
	}
}
