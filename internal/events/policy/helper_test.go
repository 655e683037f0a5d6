package policy_test

import (
	"crypto/sha256"
	"encoding/binary"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

const ours = "wss://relay.example.org"

var now = time.Unix(1_800_000_000, 0)

// key is the public key of a person by name.
func key(name string) nostr.PubKey { return nostr.PubKey(sha256.Sum256([]byte(name))) }

// nth is an id that no event has.
func nth(n int) (id nostr.ID) {
	binary.BigEndian.PutUint64(id[:], uint64(n)+1)
	return id
}

// event is an event of now by that person, with its right id and no signature.
func event(author string, kind nostr.Kind, tags ...nostr.Tag) *nostr.Event {
	return eventAt(now, author, kind, tags...)
}

func eventAt(at time.Time, author string, kind nostr.Kind, tags ...nostr.Tag) *nostr.Event {
	e := &nostr.Event{PubKey: key(author), CreatedAt: at.Unix(), Kind: kind, Tags: tags}
	e.ID = e.ComputeID()
	return e
}

// repo is the address of somebody's repository "d".
func repo(author string) string {
	return nip34.Address{Kind: nip34.KindRepository, PubKey: key(author), D: "d"}.String()
}

func tag(values ...string) nostr.Tag { return values }

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// carrying is a view with alice's repository "d".
func carrying() *memory {
	v := &memory{}
	v.add(eventAt(now.Add(-time.Hour), "alice", nip34.KindRepository, tag("d", "d"), tag("relays", ours)))
	return v
}

func service(t testing.TB, domain string) grasp.Service {
	t.Helper()
	s, err := grasp.ParseService(domain)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func rules(t testing.TB) policy.Rules {
	t.Helper()
	return policy.Rules{Service: service(t, "relay.example.org")}
}

// A refusal says what is wrong, and after the semicolon what to do.
var refusal = regexp.MustCompile(`^(blocked|invalid|auth-required|restricted|pow): [^\x00-\x1f;]{20,}; [a-z][^\x00-\x1f;]{10,}$`)

// decide decides what a stranger brings at now, and holds every verdict against what verdicts must be.
func decide(t testing.TB, v policy.View, e *nostr.Event) policy.Verdict {
	t.Helper()
	return decideBy(t, rules(t), policy.Stranger, v, e)
}

func decideBy(t testing.TB, r policy.Rules, by policy.Bearer, v policy.View, e *nostr.Event) policy.Verdict {
	t.Helper()
	verdict, err := r.Decide(e, by, v, now)
	if err != nil {
		t.Fatal(err)
	}
	switch verdict.Outcome {
	case policy.Accept:
		if verdict.Reason != "" || !verdict.OK() {
			t.Errorf("accepted with %q", verdict.Reason)
		}
	case policy.Withdraw, policy.Refuse, policy.Unlisted, policy.Unrelated, policy.NoMaintainer, policy.Expired, policy.Discard:
		if !refusal.MatchString(verdict.Reason) || len(verdict.Reason) > 300 || verdict.OK() {
			t.Errorf("%v tells the author %q", verdict.Outcome, verdict.Reason)
		}
	default:
		t.Errorf("%v is not for the policy to say", verdict.Outcome)
	}
	return verdict
}
