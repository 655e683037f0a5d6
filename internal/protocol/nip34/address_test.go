package nip34_test

import (
	"cmp"
	"errors"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func TestParseAddress(t *testing.T) {
	pk := key("alice").String()
	for _, tc := range []struct{ name, d string }{
		{"plain", "graspd"},
		{"empty", ""},
		{"colons", "a:b::c:"},
		{"slashes", "../a/b"},
		{"spaces", " a b "},
		{"emoji", "🦀🐢"},
		{"2,000 characters", strings.Repeat("🦀", 2000)},
		{"longest", strings.Repeat("x", nip34.MaxIdentifier)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := "30617:" + pk + ":" + tc.d
			got, err := nip34.ParseAddress(in)
			if want := repo("alice", tc.d); err != nil || got != want {
				t.Fatalf("got %+v, %v", got, err)
			}
			if got.String() != in {
				t.Errorf("printed as %q", got)
			}
		})
	}
}

func TestParseAddressOfReplaceable(t *testing.T) {
	pk := key("alice").String()
	want := nip34.Address{Kind: nip34.KindGraspList, PubKey: key("alice")}
	for _, in := range []string{"10317:" + pk + ":", "10317:" + pk} {
		got, err := nip34.ParseAddress(in)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v", in, got, err)
		}
	}
	if got := want.String(); got != "10317:"+pk+":" {
		t.Errorf("printed as %q", got)
	}
}

func TestParseAddressRefuses(t *testing.T) {
	pk := key("alice").String()
	for _, tc := range []struct{ name, in string }{
		{"nothing", ""},
		{"an id", pk},
		{"no second colon", "30617:" + pk},
		{"no key", "30617::d"},
		{"short key", "30617:" + pk[1:] + ":d"},
		{"upper-case key", "30617:" + strings.ToUpper(pk) + ":d"},
		{"npub", "30617:npub15qydau2hjma6ngxkl2cyar74wzyjshvl65za5k5rl69264ar2exs5cyejr:d"},
		{"sign", "+30617:" + pk + ":d"},
		{"negative", "-1:" + pk + ":d"},
		{"leading zero", "030617:" + pk + ":d"},
		{"space", " 30617:" + pk + ":d"},
		{"underscore", "30_617:" + pk + ":d"},
		{"kind 65536 + 30617", "96153:" + pk + ":d"},
		{"no kind", ":" + pk + ":d"},
		{"regular kind", "1621:" + pk + ":d"},
		{"ephemeral kind", "20001:" + pk + ":d"},
		{"replaceable kind with d", "10317:" + pk + ":d"},
		{"d too long", "30617:" + pk + ":" + strings.Repeat("x", nip34.MaxIdentifier+1)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := nip34.ParseAddress(tc.in)
			if !errors.Is(err, nip34.ErrAddress) || got != (nip34.Address{}) {
				t.Fatalf("got %+v, %v", got, err)
			}
		})
	}
}

func TestAddressOf(t *testing.T) {
	for _, tc := range []struct {
		name string
		e    *nostr.Event
		want nip34.Address
		ok   bool
	}{
		{"addressable", event(30617, tag("d", "a:b")), repo("alice", "a:b"), true},
		{"without d", event(30617), repo("alice", ""), true},
		{"first d counts", event(30617, tag("d", "a"), tag("d", "b")), repo("alice", "a"), true},
		{"replaceable", event(10317, tag("d", "x")), nip34.Address{Kind: 10317, PubKey: key("alice")}, true},
		{"regular", event(1621, tag("d", "x")), nip34.Address{}, false},
		{"ephemeral", event(20001, tag("d", "x")), nip34.Address{}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, ok := nip34.AddressOf(tc.e)
			if got != tc.want || ok != tc.ok {
				t.Fatalf("got %+v, %v", got, ok)
			}
			if ok && got.String() != tc.e.Address() {
				t.Errorf("printed as %q, the event says %q", got, tc.e.Address())
			}
		})
	}
}

// FuzzParseAddress requires that what is accepted prints as it was read, but for the colon that may be missing.
func FuzzParseAddress(f *testing.F) {
	pk := key("alice").String()
	for _, s := range []string{"", ":", "::", "30617:" + pk + ":d:e", "10317:" + pk, "0:" + pk + ":", "30617:" + pk + ":\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := nip34.ParseAddress(s)
		if err != nil {
			return
		}
		if out := a.String(); out != s && (out != s+":" || !a.Kind.IsReplaceable()) {
			t.Fatalf("%q printed as %q", s, out)
		}
		if again, err := nip34.ParseAddress(a.String()); err != nil || again != a {
			t.Fatalf("%q read again as %+v, %v", a, again, err)
		}
	})
}

func TestAddressesHaveAnOrder(t *testing.T) {
	all := []nip34.Address{
		{Kind: 30617, PubKey: nostr.PubKey{1}, D: "b"}, {Kind: 30617, PubKey: nostr.PubKey{1}, D: "c"}, {Kind: 30617, PubKey: nostr.PubKey{2}, D: "a"},
		{Kind: 30618, PubKey: nostr.PubKey{1}, D: "a"},
	}
	for i, a := range all {
		for j, b := range all {
			if got := a.Compare(b); got != cmp.Compare(i, j) {
				t.Errorf("%v beside %v: %d", a, b, got)
			}
		}
	}
}
