package statustext

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/graspd/graspd/internal/operate/admin"
	"github.com/graspd/graspd/internal/status"
)

func TestTablesAlignFiguresAndCutNames(t *testing.T) {
	rows := table{
		{"REPOSITORY", "SERVER", "HERE", "ENDS"},
		{"30617:aa:tool", "https://git.example.net/long/path.git", "1200", "now"},
		{"30617:aa:ärger", "-", "-", "in 1 min"},
	}
	for width, want := range map[int]string{
		0: `REPOSITORY      SERVER                                 HERE  ENDS
30617:aa:tool   https://git.example.net/long/path.git  1200  now
30617:aa:ärger  -                                         -  in 1 min
`,
		50: `REPOSITORY      SERVER              HERE  ENDS
30617:aa:tool   https://g…path.git  1200  now
30617:aa:ärger  -                      -  in 1 min
`,
	} {
		var b strings.Builder
		if err := rows.print(&b, width, 0, 1); err != nil || b.String() != want {
			t.Errorf("%d: %v\n%s", width, err, b.String())
		}
	}
}

// TestStatusFitsTheTerminal: no line of any table has more than the 80 characters of a terminal, however long names and reasons are.
func TestStatusFitsTheTerminal(t *testing.T) {
	address := status.Text("30617:" + strings.Repeat("ab", 32) + ":a-repository-with-a-long-name")
	long := status.Text(strings.Repeat("a sentence that goes on ", 8))
	lack := status.GitLack{Address: address, Lacks: make([]status.GitNeed, 123), Servers: []status.GitServer{{URL: "https://git.example.net/" + long, Error: long}}}
	held := uint64(1234567)
	s := admin.Status{Git: &status.Git{
		Processes: []status.Processes{{Kind: "fetch", Running: 11, Queued: 22222, Refused: 333333, Ended: 44444444, Failed: 55555}},
		Waits:     []status.Wait{{Kind: 30618, Repository: address, Why: long}},
		Refused:   []status.Refusal{{Repository: address, Reason: long}},
		Sync:      &status.GitSync{Worst: []status.GitLack{lack}},
	}}
	var b strings.Builder
	if err := Write(&b, s, status.Moment{}.Time, 80); err != nil {
		t.Fatal(err)
	}
	if err := WriteRepositories(&b, admin.Repositories{Repositories: []admin.RepositoryStatus{{Address: string(address), Git: &lack,
		Relays: []admin.RepositoryPart{{URL: "wss://relay.example.org/" + string(long), Want: 99999, Confirmed: 99999, Here: &held, Lacks: &held}}}}}, 80); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 && strings.Contains(line, "  ") {
			t.Errorf("%d: %s", n, line)
		}
	}
	if !strings.Contains(b.String(), "…") {
		t.Error(b.String())
	}
}

func TestGitDataOfOthers(t *testing.T) {
	for want, s := range map[string]status.GitSync{
		"": {},
		"\nother servers have sent the git data of 1 event (2.0 MiB)\n": {Brought: 1, Bytes: 2 << 20},
		"\nwithout git data that events name: 2 repositories; being fetched from other servers: 1 fetch; left alone for a while: 3 servers; other servers have sent the git data of 5 events (0 KiB)\n": {
			Lacking: 2, Fetching: 1, Resting: 3, Brought: 5},
	} {
		if got := fromOthers(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
