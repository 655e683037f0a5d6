package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// What only a participant's own relay has comes from there, once the relay of the operator's choice has told which one that is.
func TestMailboxes(t *testing.T) {
	t.Parallel()
	index, home := testkit.Serve(t), testkit.Serve(t)
	hosts := serve(t, "--data", t.TempDir(), "--git", "--listen", freeAddress(t), "--admin-listen=", "--mailboxes")
	if d := document(t, hosts); !slices.Equal(d.SupportedGRASPs, []string{"GRASP-01", "GRASP-02", "GRASP-03"}) {
		t.Errorf("%v", d.SupportedGRASPs)
	}
	us := serve(t, "--data", t.TempDir(), "--git=false", "--listen", freeAddress(t), "--admin-listen=", "--sync-check-interval", "1s", "--sync-allow-private",
		"--mailboxes", "--index-relays", string(index.URL))
	owner, person, now := testkit.Key(1), testkit.Key(2), time.Now().Unix()
	issue := testkit.Sign(person, now, nip34.KindIssue, "broken", nostr.Tag{"a", testkit.RepositoryAddress(owner, "tool")})
	comment := testkit.Comment(person, now, issue, "it is the cable")
	index.Add(testkit.Sign(person, now, nostr.KindRelayList, "", nostr.Tag{"r", string(home.URL)}))
	home.Add(comment)
	c := dial(t, us.url)
	c.publish(testkit.Sign(owner, now, nip34.KindRepository, "", nostr.Tag{"d", "tool"}, nostr.Tag{"relays", string(us.url)}))
	c.publish(issue)
	eventually(t, "the comment", func() bool { return c.stored(comment) })
}

func TestMailboxFlags(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"--mailboxes", "--sync=false"}, "--mailboxes: what participants write comes from other relays; leave --sync=false out"},
		{[]string{"--mailboxes", "--private", "--members", testkit.Key(1).PubKey().String()}, "leave one of the two out"},
		{[]string{"--index-relays", "wss://a.example"}, "--index-relays: of no effect without --mailboxes"},
		{[]string{"--mailboxes", "--index-relays", "wss://a.example,nonsense"}, `--index-relays: "nonsense" is not allowed`},
	} {
		var out bytes.Buffer
		_, problems, err := loadSettings(append([]string{"--data", t.TempDir()}, tc.args...), stdio{out: &out, err: &out}, environment{})
		if err != nil || len(problems) != 1 || !strings.Contains(problems[0], tc.want) {
			t.Errorf("%v: %q, %v", tc.args, problems, err)
		}
	}
	s, problems, err := loadSettings([]string{"--mailboxes", "--index-relays", "wss://a.example,WSS://A.example/,wss://b.example"}, stdio{}, environment{})
	if index, _ := s.index(); err != nil || len(problems) > 0 || len(index) != 2 || !s.Mailboxes {
		t.Errorf("%v %q, %v", index, problems, err)
	}
}
