package node

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store/logtest"
	"github.com/graspd/graspd/internal/git/hosting"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/test/testkit"
)

// sharedSettings are settings of each kind.
func sharedSettings(t *testing.T) Config {
	t.Helper()
	service, err := grasp.ParseService("relay.example.org")
	if err != nil {
		t.Fatal(err)
	}
	key := func(n int) string { return testkit.Key(n).PubKey().String() }
	var l policy.Lists
	members := policy.PubKeys{}
	for entry, add := range map[string]func(string) error{
		key(1): l.AllowPubKeys.AddAuthor, key(2): l.DenyPubKeys.AddAuthor, key(3): l.AllowRepositories.AddRepository, "30617:" + key(4) + ":a tool": l.AllowRepositories.AddRepository,
		key(5): l.DenyRepositories.AddRepository, "30617:" + key(6) + ":x": l.DenyRepositories.AddRepository, "all": l.Archive.Add, "wss://other.example.org": l.Archive.Add,
		"identifier": l.Archive.Add, "30617:" + key(7) + ":y": l.Archive.Add, key(8): l.Archive.Add, key(9): members.AddAuthor,
	} {
		if err := add(entry); err != nil {
			t.Fatal(entry, err)
		}
	}
	return Config{
		Service: service, Lists: l, MinPoW: 7, Mailboxes: true, Archive: &Archive{ReadOnly: true}, Private: &Private{Members: members}, AdminKeys: nil,
		Git: &Git{Contributors: true, Limits: hosting.Limits{Push: 1, Repository: 2, Author: 3, Total: 4}},
	}
}

// TestSettingsInTheirRow: what is written is read again, takes the place of a node's own, and each setting counts.
func TestSettingsInTheirRow(t *testing.T) {
	c := sharedSettings(t)
	st := openLoggedIn(t, t.TempDir(), new(logtest.Memory))
	if s, err := readShared(st); err != nil || s != nil {
		t.Fatal(s, err)
	}
	at := time.Unix(1_700_000_000, 0)
	if err := putShared(st, c.shared(), at); err != nil {
		t.Fatal(err)
	}
	if err := putShared(st, c.shared(), at.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	s, err := readShared(st)
	if err != nil || !s.At.Equal(at) || len(s.differs(c.shared())) > 0 {
		t.Fatal(s, err)
	}
	own := Config{Service: c.Service, Private: &Private{}}
	got, err := s.over(own)
	if err != nil || !reflect.DeepEqual(got.Lists, c.Lists) || !reflect.DeepEqual(got.Private, c.Private) || got.MinPoW != 7 {
		t.Errorf("%+v, %v", got, err)
	}
	want := []string{"admin-pubkeys", "allow-pubkeys", "allow-repositories", "archive", "archive-read-only", "contributors", "deny-pubkeys", "deny-repositories", "domain", "git", "git-max-author", "git-max-data",
		"git-max-push", "git-max-repository", "mailboxes", "members", "min-pow", "private"}
	c.AdminKeys = append(c.AdminKeys, testkit.Key(1).PubKey())
	if got := c.shared().differs(shared{}); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := (shared{}).differs(c.shared()); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if _, err := s.over(Config{}); !errors.Is(err, ErrGuarded) {
		t.Error(err)
	}
	if got, err := (*shared)(nil).over(own); err != nil || got.MinPoW != 0 {
		t.Error(got, err)
	}
}

// TestWhoMayLead: who has the settings in force; or later ones, where nobody has led for long.
func TestWhoMayLead(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	own, other := shared{MinPoW: 1}, shared{MinPoW: 2, At: at}
	same := own
	same.At = at
	for _, c := range []struct {
		force *shared
		read  time.Time
		unled time.Duration
		want  bool
	}{
		{nil, at, 0, true}, {&same, at.Add(-time.Hour), 0, true},
		{&other, at.Add(time.Hour), 0, false}, {&other, at.Add(time.Hour), lastResort - 1, false}, {&other, at.Add(time.Hour), lastResort, true},
		{&other, at, time.Hour, false}, {&other, at.Add(-time.Hour), time.Hour, false},
	} {
		if got := c.force.mayLead(own, c.read, c.unled); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
