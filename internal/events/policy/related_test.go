package policy_test

import (
	"testing"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func TestDecideRelated(t *testing.T) {
	a, q, A := tag("a", repo("alice")), tag("q", repo("alice")), tag("A", repo("alice"))
	issue := event("dave", nip34.KindIssue, a)
	comment := event("erin", nostr.KindComment, tag("E", issue.ID.String()), tag("K", "1621"))
	e, E, qid := tag("e", issue.ID.String()), tag("E", issue.ID.String()), tag("q", issue.ID.String())
	elsewhere := nip34.Address{Kind: 30617, PubKey: key("bob"), D: "d"}.String()
	nothing := nth(1).String()
	for _, tc := range []struct {
		name string
		e    *nostr.Event
		want policy.Outcome
	}{
		{"patch", event("bob", 1617, a), policy.Accept},
		{"patch of a series", event("bob", 1617, e), policy.Accept},
		{"patch to another repository", event("bob", 1617, tag("a", elsewhere)), policy.Unrelated},
		{"patch without repository", event("bob", 1617), policy.Unrelated},
		{"pull request", event("bob", 1618, a), policy.Accept},
		{"pull request to several, ours last", event("bob", 1618, tag("a", elsewhere), tag("a", "junk"), a), policy.Accept},
		{"pull request update by its E only", event("bob", 1619, E), policy.Accept},
		{"pull request update", event("bob", 1619, tag("E", nothing)), policy.Unrelated},
		{"issue", event("bob", 1621, a), policy.Accept},
		{"issue elsewhere", event("bob", 1621, tag("a", elsewhere)), policy.Unrelated},
		{"status", event("bob", 1630, tag("e", issue.ID.String(), "", "root")), policy.Accept},
		{"status of something unknown", event("bob", 1632, tag("e", nothing, "", "root")), policy.Unrelated},
		{"reply of the old kind", event("bob", 1622, e), policy.Accept},
		{"cover note", event("bob", 1624, e), policy.Accept},
		{"comment on an issue", event("bob", 1111, E, e), policy.Accept},
		{"comment on a comment", event("bob", 1111, tag("E", nothing), tag("e", comment.ID.String())), policy.Accept},
		{"comment on the repository", event("bob", 1111, A), policy.Accept},
		{"comment on another repository", event("bob", 1111, tag("A", elsewhere), tag("a", elsewhere)), policy.Unrelated},
		{"quote of a repository", event("bob", 1, q), policy.Accept},
		{"quote of an issue", event("bob", 1, qid), policy.Accept},
		{"reaction", event("bob", 7, e), policy.Accept},
		{"label", event("bob", 1985, e), policy.Accept},
		{"pinned repositories", event("bob", 10617, a), policy.Accept},
		{"article about it", event("bob", 30023, tag("d", "x"), a), policy.Accept},
		{"fork mention is no reference", event("bob", 1, tag("u", repo("alice"))), policy.Unrelated},
		{"report of somebody who is here", event("bob", 1984, tag("p", key("alice").String(), "spam")), policy.Accept},
		{"report of somebody, in a p tag that counts", event("bob", 1984, tag("p", "junk"), tag("p", key("alice").String(), "spam")), policy.Accept},
		{"report of a stranger", event("bob", 1984, tag("p", key("mallory").String(), "spam"), tag("p", key("alice").String())), policy.Unrelated},
		{"report of nobody", event("bob", 1984), policy.Unrelated},
		{"report of an issue", event("bob", 1984, e), policy.Accept},
		{"mention of a person is none", event("alice", 1, tag("p", key("alice").String())), policy.Unrelated},
		{"address in e, id in a", event("bob", 1, tag("e", repo("alice")), tag("a", issue.ID.String())), policy.Unrelated},
		{"longer address", event("bob", 1, tag("a", repo("alice")+"2")), policy.Unrelated},
		{"state named", event("bob", 1, tag("a", "30618:"+key("alice").String()+":d")), policy.Unrelated},
		{"note", event("bob", 1), policy.Unrelated},
		{"note by somebody known", event("alice", 1), policy.Unrelated},
		{"profile of a stranger", event("bob", 0), policy.Unrelated},
		{"profile of somebody with a repository", event("alice", 0), policy.Accept},
		{"relay list of somebody known", event("alice", 10002), policy.Unrelated},
		{"article that names itself", event("bob", 30023, tag("d", "x"), tag("a", "30023:"+key("bob").String()+":x")), policy.Unrelated},

		{"deletion by somebody known", event("dave", 5, tag("e", nothing)), policy.Accept},
		{"deletion by a stranger", event("bob", 5, tag("e", nothing)), policy.Unrelated},
		{"deletion by a stranger that names what is here", event("bob", 5, e), policy.Accept},
		{"deletion by a stranger that names a repository", event("bob", 5, a), policy.Accept},
		{"grasp list by somebody known", event("dave", 10317), policy.Accept},
		{"grasp list of a stranger", event("bob", 10317, tag("g", ours)), policy.Unrelated},
		{"profile of somebody known", event("dave", 0), policy.Accept},
		{"profile of a stranger", event("bob", 0), policy.Unrelated},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := carrying()
			v.add(issue, comment)
			if got := decide(t, v, tc.e); got.Outcome != tc.want {
				t.Fatalf("got %v %q", got.Outcome, got.Reason)
			}
		})
	}
}

// An event that names nothing here is accepted when something here names it.
func TestDecideNamedEvents(t *testing.T) {
	note, list := event("bob", 1), event("bob", 10002)
	article := event("bob", 30023, tag("d", "x:y"))
	pk := key("bob").String()
	for _, tc := range []struct {
		name string
		tag  nostr.Tag
		e    *nostr.Event
		want policy.Outcome
	}{
		{"e", tag("e", note.ID.String()), note, policy.Accept},
		{"E", tag("E", note.ID.String()), note, policy.Accept},
		{"q", tag("q", note.ID.String()), note, policy.Accept},
		{"p", tag("p", note.ID.String()), note, policy.Unrelated},
		{"another", tag("e", nth(1).String()), note, policy.Unrelated},
		{"a", tag("a", "30023:"+pk+":x:y"), article, policy.Accept},
		{"A", tag("A", "30023:"+pk+":x:y"), article, policy.Accept},
		{"q with an address", tag("q", "30023:"+pk+":x:y"), article, policy.Accept},
		{"another d", tag("a", "30023:"+pk+":x"), article, policy.Unrelated},
		{"replaceable", tag("a", "10002:"+pk+":"), list, policy.Accept},
		{"replaceable without the last colon", tag("a", "10002:"+pk), list, policy.Accept},
		{"addressable without d and colon", tag("a", "30023:"+pk), event("bob", 30023), policy.Unrelated},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := carrying()
			v.add(event("dave", nip34.KindIssue, tag("a", repo("alice")), tc.tag))
			if got := decide(t, v, tc.e); got.Outcome != tc.want {
				t.Fatalf("got %v %q", got.Outcome, got.Reason)
			}
		})
	}
}

// That an older version of an event is here does not make a newer one related that names nothing but itself.
func TestDecideNewerVersionThatNamesItself(t *testing.T) {
	v, d := carrying(), tag("d", "x")
	v.add(event("bob", 30023, d, tag("a", repo("alice"))))
	newer := event("bob", 30023, d, tag("a", "30023:"+key("bob").String()+":x"))
	if got := decide(t, v, newer); got.Outcome != policy.Unrelated {
		t.Fatalf("got %v", got)
	}
	if got := decide(t, v, event("carol", 1, newer.Tags[1])); got.Outcome != policy.Accept {
		t.Fatalf("somebody else who names it: %v", got)
	}
}
