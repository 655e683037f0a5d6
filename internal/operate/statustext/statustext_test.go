package statustext

import (
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/operate/admin"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/status"
)

func TestStatusTable(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	next, past := status.Moment{Time: now.Add(83*time.Minute + 400*time.Millisecond)}, status.Moment{Time: now.Add(-time.Second)}
	cause := status.Text("not dialed for an announcement: port 22 belongs to another service\x1b[2J")
	up, all, coverage := 0.9996, 1.0, 0.29
	s := admin.Status{
		Relay: admin.Self{URL: "wss://relay.example.org", Version: "v1"}, Store: admin.StoreStatus{Events: 151000, Repositories: 1000},
		Sync: admin.SyncStatus{Relays: []status.Relay{
			{URL: "wss://a.example.net", Bootstrap: true, Phase: "live", Health: "healthy", Want: status.Count{Repositories: 50, Roots: 2500},
				Confirmed: status.Count{Repositories: 50, Roots: 2500}, SweptRoots: 7, Turn: status.Seconds{Duration: 3605 * time.Second}, Refused: 1, Counters: status.Counters{Sources: status.Sources{Live: 12, Catchup: 7400, Daily: 3}, Gaps: 2},
				Uptime: &up, Coverage: &coverage},
			{URL: "wss://longer.example.net", Phase: "waiting", Health: "dead", Failures: 61, Want: status.Count{Repositories: 1}, NextAttempt: next, Cause: cause, FailingSince: status.Moment{Time: now.Add(-30 * time.Hour)}},
			{URL: "wss://now.example.net", Phase: "dialing", Health: "degraded", Failures: 1, NextAttempt: past, Uptime: &all},
		}},
	}
	const want = `wss://relay.example.org, graspd v1: 151000 events stored, 1000 repositories stored

RELAY                     PHASE    HEALTH        REPOSITORIES       ROOTS                                EVENTS  GAPS  UPTIME  COVERAGE  NEXT ATTEMPT
wss://a.example.net *     live     healthy       50/50 (1 refused)  2500/2500 (7 in turns of 1 h 0 min)    7415     2   99.9%     29.0%  -
wss://longer.example.net  waiting  dead (61)     0/1                0/0                                       0     0       -         -  in 1 h 23 min
wss://now.example.net     dialing  degraded (1)  0/0                0/0                                       0     0  100.0%         -  now

wss://longer.example.net: 61 failures in a row since 2026-11-19T06:00:00Z, the last one: not dialed for an announcement: port 22 belongs to another service\x1b[2J
wss://now.example.net: 1 failure

* bootstrap relay

REPOSITORIES and ROOTS: complete here, of those wanted; roots are issues, patches and pull requests
`
	var b strings.Builder
	if err := Write(&b, s, now, 0); err != nil || b.String() != want {
		t.Errorf("%v\n%s", err, b.String())
	}
	const narrow = `wss://relay.example.org, graspd v1: 151000 events stored, 1000 repositories stored

RELAY                     PHASE    HEALTH        REPOSITORIES
wss://a.example.net *     live     healthy       50/50 (1 refused)
wss://longer.example.net  waiting  dead (61)     0/1
wss://now.example.net     dialing  degraded (1)  0/0

left out for want of width (80 columns): uptime, events, coverage, gaps, roots, next attempt; --wide shows them
`
	b.Reset()
	if err := Write(&b, s, now, 80); err != nil || !strings.HasPrefix(b.String(), narrow) {
		t.Errorf("%v\n%s", err, b.String())
	}
	s.Sync.Relays = nil
	b.Reset()
	s.Store.Disk = &admin.DiskStatus{FreeBytes: 5 << 30, FreeInodes: new(uint64(12345))}
	s.GitDisk = &admin.DiskStatus{FreeBytes: 6 << 30}
	s.Git = &status.Git{
		Repositories: 3, Bytes: 5 << 20, Pushes: 1, Fetches: 2, Waiting: 4, Uploads: 6,
		Processes: []status.Processes{{Kind: "fetch", Running: 1, Queued: 2, Refused: 3, Ended: 40, Failed: 5}},
		Waits:     []status.Wait{{Kind: 30618, Repository: "30617:aa4fc8665f5696e33db7e1a572e3b0f5b3d615837b0f362dcb1c8068b098c7b4:tool", Why: "until 2 branches\x1b[2J", Until: next}},
		Refused:   []status.Refusal{{At: past, Repository: "30617:aa:\ntool", Reason: "no state event"}},
	}
	const git = `wss://relay.example.org, graspd v1: 151000 events stored, 1000 repositories stored
5.0 GiB free on the disk, 12345 inodes
6.0 GiB free on the disk of the git data
git: 3 repositories with data, 5.0 MiB; under way: 1 push, 2 fetches; waiting: 4 events, 6 uploads

PROCESSES  RUNNING  QUEUED  REFUSED  ENDED  FAILED
fetch            1       2        3     40       5

WAITS       REPOSITORY                                                            IT WAITS                 ENDS
kind 30618  NPUB/tool  until 2 branches\x1b[2J  in 1 h 23 min

REFUSED PUSH          REPOSITORY       REASON
2026-11-20T11:59:59Z  30617:aa:\ntool  no state event

graspd follows no relay
`
	if err := Write(&b, s, now, 0); err != nil || b.String() != strings.ReplaceAll(git, "NPUB", npubOf(t, string(s.Git.Waits[0].Repository))) {
		t.Errorf("%v\n%s", err, b.String())
	}
	s.Git, s.GitDisk, s.Store.Disk = nil, nil, nil
	b.Reset()
	if err := Write(&b, s, now, 0); err != nil || b.String() != "wss://relay.example.org, graspd v1: 151000 events stored, 1000 repositories stored\ngraspd follows no relay\n" {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// The table says why relays are known where some are mailboxes.
func TestStatusSaysWhyRelaysAreKnown(t *testing.T) {
	s := admin.Status{Relay: admin.Self{URL: "wss://relay.example.org", Version: "v1"}, Sync: admin.SyncStatus{Relays: []status.Relay{
		{URL: "wss://a.example.net", Phase: "live", Health: "healthy", Want: status.Count{Repositories: 2}},
		{URL: "wss://home.example.net", Phase: "waiting", Health: "healthy", Mailbox: 12, OnlyMailbox: true},
		{URL: "wss://index.example.net", Phase: "waiting", Health: "healthy", Index: true, OnlyMailbox: true},
	}}}
	for _, on := range []bool{true, false} {
		var b strings.Builder
		if err := Write(&b, s, time.Now(), 0); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"NEXT ATTEMPT  WHY\n", "named by 2 repositories\n", "mailbox of 12 people\n", "index relay\n"} {
			if strings.Contains(b.String(), want) != on {
				t.Errorf("%q, mailboxes %v:\n%s", want, on, b.String())
			}
		}
		s.Sync.Relays = s.Sync.Relays[:1]
	}
}

// npubOf is the owner in an address.
func npubOf(t *testing.T, address string) string {
	t.Helper()
	of, err := nip34.ParseAddress(address)
	if err != nil {
		t.Fatal(err)
	}
	return nip19.Npub(of.PubKey)
}

func TestRepositoriesTable(t *testing.T) {
	held, lacks, none := uint64(1200), uint64(3), uint64(0)
	r := admin.Repositories{Repositories: []admin.RepositoryStatus{
		{Address: "30617:aa4fc8665f5696e33db7e1a572e3b0f5b3d615837b0f362dcb1c8068b098c7b4:to\x1b[2Jol", Relays: []admin.RepositoryPart{
			{URL: "wss://a.example.net", Want: 5, Confirmed: 4, Here: &held, Lacks: &lacks}, {URL: "wss://b.example.net", Want: 5, Confirmed: 5, Here: &held, Lacks: &none},
		}},
		{Address: "30617:ab:other", Relays: []admin.RepositoryPart{{URL: "wss://a.example.net", Want: 1}}},
	}}
	const want = `REPOSITORY   OWNER                                                            RELAY                COMPLETE  HERE  RELAY LACKS
to\x1b[2Jol  NPUB  wss://a.example.net       4/5  1200            3
to\x1b[2Jol  NPUB  wss://b.example.net       5/5  1200            0
other        ab                                                               wss://a.example.net       0/1     -            -
`
	var b strings.Builder
	npub := npubOf(t, r.Repositories[0].Address)
	if err := WriteRepositories(&b, r, 0); err != nil || b.String() != strings.ReplaceAll(want, "NPUB", npub) {
		t.Errorf("%v\n%s", err, b.String())
	}
	b.Reset()
	if err := WriteRepositories(&b, admin.Repositories{}, 0); err != nil || b.String() != "no repository here names another relay\n" {
		t.Errorf("%v\n%s", err, b.String())
	}
}

func TestABox(t *testing.T) {
	var b strings.Builder
	Box(&b, []string{"one", "länger\x1b[2J"}, 0)
	if got, want := b.String(), "┌───────────────┐\n│ one           │\n│ länger\\x1b[2J │\n└───────────────┘\n"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// One report is told as one.
func TestOneReport(t *testing.T) {
	for open, want := range map[int]string{1: "1 report waits for your decision; graspd reports shows it\n", 3: "3 reports wait for your decision, about 2 authors"} {
		var b strings.Builder
		if err := Write(&b, admin.Status{Reports: &admin.ReportQueue{Open: open, Subjects: 2}}, time.Now(), 0); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%v\n%s", err, &b)
		}
	}
}
