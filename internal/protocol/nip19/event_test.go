package nip19_test

import (
	"errors"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func TestEventsAndProfiles(t *testing.T) {
	id, pk := nostr.ID{1, 2, 31: 9}, nostr.PubKey{7, 31: 1}
	tlv := func(fields ...[]byte) (out []byte) {
		for i := 0; i < len(fields); i += 2 {
			out = append(append(append(out, fields[i]...), byte(len(fields[i+1]))), fields[i+1]...)
		}
		return out
	}
	note := encode("note", id[:])
	if nip19.Note(id) != note {
		t.Errorf("written as %s, not %s", nip19.Note(id), note)
	}
	for _, relay := range []string{"", "wss://a", "wss://relay.example.org/git"} {
		if s := nip19.Nevent(id, relay); s != encode("nevent", tlv([]byte{0}, id[:], []byte{1}, []byte(relay))) {
			t.Errorf("with the relay %q: %s", relay, s)
		}
	}
	for _, s := range []string{note, encode("nevent", tlv([]byte{1}, []byte("wss://a"), []byte{0}, id[:], []byte{9}, nil))} {
		if got, err := nip19.ParseEvent(s); err != nil || got != id {
			t.Errorf("%s: %v, %v", s, got, err)
		}
		if _, err := nip19.ParseProfile(s); !errors.Is(err, nip19.ErrProfile) {
			t.Errorf("%s is somebody: %v", s, err)
		}
	}
	for _, s := range []string{nip19.Npub(pk), encode("nprofile", tlv([]byte{0}, pk[:], []byte{1}, []byte("wss://a")))} {
		if got, err := nip19.ParseProfile(s); err != nil || got != pk {
			t.Errorf("%s: %v, %v", s, got, err)
		}
		if _, err := nip19.ParseEvent(s); !errors.Is(err, nip19.ErrEvent) {
			t.Errorf("%s is an event: %v", s, err)
		}
	}
	for _, s := range []string{"", "note1", encode("note", id[:31]), encode("nevent", id[:]), encode("nevent", tlv([]byte{0}, id[:], []byte{0}, id[:])), encode("nevent", tlv([]byte{0}, id[:30])),
		encode("nevent", []byte{0, 32, 1}), encode("nevent", tlv([]byte{1}, id[:])), encode("nevent", []byte{0})} {
		if got, err := nip19.ParseEvent(s); !errors.Is(err, nip19.ErrEvent) {
			t.Errorf("%s: %v, %v", s, got, err)
		}
	}
}
