package unsolicited_test

import (
	"strings"
	"testing"
	"unicode/utf8"
	"unsafe"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/unsolicited"
)

func TestShorten(t *testing.T) {
	fits, long := strings.Repeat("x", 4096), strings.Repeat("x", 4097)
	sub, longSub := strings.Repeat("s", 64), strings.Repeat("s", 65)
	challenge := strings.Repeat("c", 1024)
	for _, tt := range []struct {
		name     string
		in, want nostr.RelayMessage
		long     bool
	}{
		{"notice", nostr.Notice{Text: fits}, nostr.Notice{Text: fits}, false},
		{"long notice", nostr.Notice{Text: long}, nostr.Notice{Text: fits}, true},
		{"ok", nostr.OK{OK: true, Reason: fits}, nostr.OK{OK: true, Reason: fits}, false},
		{"long ok", nostr.OK{OK: true, ID: nostr.ID{1}, Reason: long}, nostr.OK{OK: true, ID: nostr.ID{1}, Reason: fits}, true},
		{"closed", nostr.Closed{Sub: sub, Reason: fits}, nostr.Closed{Sub: sub, Reason: fits}, false},
		{"long closed, which still is one", nostr.Closed{Sub: sub, Reason: long}, nostr.Closed{Sub: sub, Reason: fits}, true},
		{"closed of nothing", nostr.Closed{Sub: longSub}, nil, true},
		{"neg-err", nostr.NegErr{Sub: sub, Reason: fits, Max: 3}, nostr.NegErr{Sub: sub, Reason: fits, Max: 3}, false},
		{"long neg-err", nostr.NegErr{Sub: sub, Reason: long, Max: 3}, nostr.NegErr{Sub: sub, Reason: fits, Max: 3}, true},
		{"neg-err of nothing", nostr.NegErr{Sub: longSub}, nil, true},
		{"challenge", nostr.AuthChallenge{Challenge: challenge}, nostr.AuthChallenge{Challenge: challenge}, false},
		{"long challenge, which would be signed", nostr.AuthChallenge{Challenge: challenge + "c"}, nil, true},
		{"eose", nostr.EOSE{Sub: sub}, nostr.EOSE{Sub: sub}, false},
		{"eose of nothing", nostr.EOSE{Sub: longSub}, nil, true},
		{"neg-close", nostr.NegClose{Sub: sub}, nostr.NegClose{Sub: sub}, false},
		{"neg-close of nothing", nostr.NegClose{Sub: longSub}, nil, true},
		{"count", nostr.CountResult{Sub: sub, Count: 1}, nostr.CountResult{Sub: sub, Count: 1}, false},
		{"count of nothing", nostr.CountResult{Sub: longSub}, nil, true},
	} {
		got, long := unsolicited.Shorten(tt.in)
		if got != tt.want || long != tt.long {
			t.Errorf("%s: %.40v, long %v", tt.name, got, long)
		}
	}
	neg, isLong := unsolicited.Shorten(nostr.NegMsg{Sub: sub, Msg: make([]byte, 1<<20)})
	if m, ok := neg.(nostr.NegMsg); !ok || len(m.Msg) != 1<<20 || isLong {
		t.Error("the message of a reconciliation has no text")
	}
	if got, long := unsolicited.Shorten(nostr.NegMsg{Sub: longSub, Msg: []byte{1}}); got != nil || !long {
		t.Error("a message of no reconciliation")
	}
}

func TestShortenCutsBetweenLetters(t *testing.T) {
	for at := range 5 {
		text := strings.Repeat("x", at) + strings.Repeat("\U0001f426", 2000)
		got, _ := unsolicited.Shorten(nostr.Notice{Text: text})
		s := got.(nostr.Notice).Text
		if !utf8.ValidString(s) || len(s) > 4096 || len(s) < 4093 || !strings.HasPrefix(text, s) {
			t.Errorf("%d: %d bytes, %q at the end", at, len(s), s[len(s)-4:])
		}
	}
	text := strings.Repeat("x", 1<<20)
	got, _ := unsolicited.Shorten(nostr.Notice{Text: text})
	if s := got.(nostr.Notice).Text; unsafe.StringData(s) == unsafe.StringData(text) {
		t.Error("what is kept holds the memory of the whole")
	}
	bad, _ := unsolicited.Shorten(nostr.Notice{Text: strings.Repeat("\x80", 5000)})
	if n := len(bad.(nostr.Notice).Text); n < 4090 || n > 4096 {
		t.Errorf("%d bytes of no text", n)
	}
}
