package metrics

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/histogram"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/githttp"
	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitsync"
	"github.com/graspd/graspd/internal/git/hosting"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

type fakeHost struct {
	stats hosting.Stats
	err   error
}

type fakeWeb githttp.Stats

type fakeGitSync gitsync.Stats

func (h fakeHost) Stats() hosting.Stats      { return h.stats }
func (h fakeHost) Kept() (int, int64, error) { return 3, 4096, h.err }
func (s fakeWeb) Stats() githttp.Stats       { return githttp.Stats(s) }
func (s fakeGitSync) Stats() gitsync.Stats   { return gitsync.Stats(s) }

// hosted is the sample of a relay that hosts repositories.
func hosted() Config {
	c, _ := sample()
	d := c.Door.(fakeDoor)
	d.Released[store.Catchup], d.Lapsed = 21, 22
	s := c.Store.(fakeStore)
	s.Waiting, s.WaitingBytes = 23, 24
	s.WaitingByKind = store.WaitsByKind{Announcements: 5, States: 6, PullRequests: 7, Updates: 8}
	h := hosting.Stats{Pushing: 1, Followed: 2, Combined: 35, Uploads: 3, UploadBytes: 4}
	h.Failures[hosting.CostlyPack], h.Failures[hosting.Left] = 41, 42
	h.Refused[refs.None], h.Refused[refs.NoState], h.Refused[refs.PendingAll] = 99, 5, 6
	w := githttp.Stats{
		Requests: []githttp.RequestCount{{Service: gitwire.UploadPack, Version: 2, Answer: githttp.FromLog, Count: 7}, {Service: gitwire.ReceivePack, Answer: githttp.Refused, Count: 8}},
		In:       9, Out: 10, Waiting: 11, Fetching: 12,
		Cache: githttp.CacheStats{Hits: 13, Shared: 14, Misses: 15, Evicted: 16, Entries: 17, Bytes: 18, Flights: 19},
	}
	w.Pushes[githttp.PushTaken], w.Pushes[githttp.PushLeft] = 25, 26
	w.Pushed[githttp.PushTaken].Add(2 * time.Second)
	w.Pushed[githttp.PushNothing].Add(time.Second) // there is none
	w.Made[githttp.FromUpload].Add(20 * time.Minute)
	w.Given[githttp.FromCache].Add(20 * time.Millisecond)
	c.Door, c.Store = d, s
	c.Git = &Git{Host: fakeHost{stats: h}, Web: fakeWeb(w), Processes: func(k gitproc.Kind) gitproc.Stats {
		if k != gitproc.Upload {
			return gitproc.Stats{}
		}
		return gitproc.Stats{Running: 31, Queued: 32, Refused: 33, Ended: 100, Failed: 10, ByLimit: 4, CPU: 1500 * time.Millisecond, MaxMemory: 34,
			Waited: histogram.Counts{Classes: [len(histogram.Bounds) + 1]uint64{1, 2, 0, 2}, Sum: 1250 * time.Millisecond}}
	}}
	return c
}

// TestProblemsAreCounted: an alert hears of every problem that the operator is told of.
func TestProblemsAreCounted(t *testing.T) {
	c, _ := sample()
	if got := scrape(t, c); !strings.Contains(got, "\ngraspd_problems 0\n") {
		t.Error("without anybody who looks there is a problem")
	}
	c.Problems = func(context.Context) []string { return []string{"one", "two"} }
	if got := scrape(t, c); !strings.Contains(got, "\ngraspd_problems 2\n") {
		t.Error("two problems are not told")
	}
}

func TestTheFiguresOfHosting(t *testing.T) {
	c := hosted()
	got := scrape(t, c)
	for _, line := range []string{
		`graspd_git_repositories 3`, `graspd_git_repository_bytes 4096`,
		`ngit_sync_events_total{source="catchup"} 21`, `graspd_git_waiting_events 23`, `graspd_git_waiting_bytes 24`,
		`graspd_git_waiting_events_by_kind{kind="announcement"} 5`, `graspd_git_waiting_events_by_kind{kind="state"} 6`,
		`graspd_git_waiting_events_by_kind{kind="pull_request"} 7`, `graspd_git_waiting_events_by_kind{kind="update"} 8`,
		`graspd_git_released_events_total 21`, `graspd_git_lapsed_events_total 22`,
		`graspd_git_pushes_total{outcome="ok"} 25`, `graspd_git_pushes_total{outcome="left"} 26`, `graspd_git_pushes_total{outcome="busy"} 0`,
		`graspd_git_refused_refs_total{cause="no_state"} 5`, `graspd_git_refused_refs_total{cause="pending_all"} 6`, `graspd_git_refused_refs_total{cause="moved"} 0`,
		`graspd_git_pushes_running 1`, `graspd_git_pushes_queued 11`, `graspd_git_followed_total 2`, `graspd_git_combined_total 35`, `graspd_git_uploads 3`, `graspd_git_upload_bytes 4`,
		`graspd_git_requests_total{answer="log",service="git-upload-pack",version="2"} 7`, `graspd_git_requests_total{answer="refused",service="git-receive-pack",version="0"} 8`,
		`graspd_git_fetches_running 12`, `graspd_git_received_bytes_total 9`, `graspd_git_sent_bytes_total 10`,
		`graspd_git_cache_requests_total{result="hit"} 13`, `graspd_git_cache_requests_total{result="shared"} 14`, `graspd_git_cache_requests_total{result="miss"} 15`,
		`graspd_git_cache_evicted_total 16`, `graspd_git_cache_entries 17`, `graspd_git_cache_bytes 18`, `graspd_git_cache_flights 19`,
		`graspd_git_processes_running{kind="upload"} 31`, `graspd_git_processes_running{kind="fetch"} 0`, `graspd_git_processes_queued{kind="upload"} 32`,
		`graspd_git_processes_refused_total{kind="upload"} 33`, `graspd_git_processes_ended_total{kind="upload",outcome="ok"} 90`,
		`graspd_git_processes_ended_total{kind="upload",outcome="failed"} 6`, `graspd_git_processes_ended_total{kind="upload",outcome="limit"} 4`,
		`graspd_git_processes_cpu_seconds_total{kind="upload"} 1.5`, `graspd_git_process_most_bytes{kind="upload"} 34`,
		`graspd_git_process_wait_seconds_bucket{kind="upload",le="0.01"} 3`, `graspd_git_process_wait_seconds_bucket{kind="upload",le="0.1"} 5`,
		`graspd_git_push_seconds_bucket{outcome="ok",le="1"} 0`, `graspd_git_push_seconds_bucket{outcome="ok",le="2.5"} 1`, `graspd_git_push_seconds_sum{outcome="ok"} 2`,
		`graspd_git_push_seconds_count{outcome="busy"} 0`,
		`graspd_git_pack_seconds_bucket{answer="upload",le="900"} 0`, `graspd_git_pack_seconds_bucket{answer="upload",le="+Inf"} 1`, `graspd_git_pack_seconds_count{answer="pack"} 0`,
		`graspd_git_fetch_seconds_bucket{answer="cache",le="0.05"} 1`, `graspd_git_fetch_seconds_sum{answer="cache"} 0.02`, `graspd_git_fetch_seconds_count{answer="flight"} 0`,
		`graspd_git_failed_pushes_total{cause="costly_pack"} 41`, `graspd_git_failed_pushes_total{cause="left"} 42`, `graspd_git_failed_pushes_total{cause="fault"} 0`,
		`graspd_git_process_wait_seconds_sum{kind="upload"} 1.25`, `graspd_git_process_wait_seconds_count{kind="upload"} 5`,
	} {
		if !strings.Contains(got, "\n"+line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
	if strings.Contains(got, `push_seconds_count{outcome="nothing"}`) || strings.Contains(got, "graspd_git_sync_") {
		t.Error("there are figures of what there is not")
	}
	if strings.Contains(got, `cause="none"`) {
		t.Error("refs that were taken count as refused")
	}
	s := fakeGitSync{Fetches: 3, Failed: 1}
	s.Took.Add(400 * time.Millisecond)
	s.Took.Add(time.Hour)
	s.TookFailed.Add(time.Second)
	c.Git.Sync = s
	got = scrape(t, c)
	for _, line := range []string{
		`graspd_git_sync_fetches_total{outcome="ok"} 2`,
		`graspd_git_sync_fetch_seconds_bucket{outcome="ok",le="0.5"} 1`, `graspd_git_sync_fetch_seconds_sum{outcome="ok"} 3600.4`,
		`graspd_git_sync_fetch_seconds_bucket{outcome="failed",le="1"} 1`, `graspd_git_sync_fetch_seconds_count{outcome="failed"} 1`,
	} {
		if !strings.Contains(got, "\n"+line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
	c.Git.Host = fakeHost{err: store.ErrFull}
	if got := scrape(t, c); strings.Contains(got, "graspd_git_repositories ") || !strings.Contains(got, "graspd_git_uploads 0") {
		t.Error("what is not known is told, or nothing is")
	}
	if c.Git = nil; strings.Contains(scrape(t, c), "graspd_git_") {
		t.Error("hosting is told of without it")
	}
}
