package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/graspd/graspd/internal/operate/moderation"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestTablesOfDecisionsFitTheTerminal: on a terminal no line of restore's and journal's tables has more than 80 characters, and elsewhere
// nothing is cut.
func TestTablesOfDecisionsFitTheTerminal(t *testing.T) {
	subject := moderation.Subject{Sort: moderation.Repository, D: strings.Repeat("a-long-name", 5)}
	long := strings.Repeat("somebody's words ", 9) + "end"
	cases := []moderation.Case{
		{N: 12345, Subject: subject, By: long, Why: long, Keep: 1_700_000_000, State: moderation.Forgotten, Events: map[nostr.Kind]int64{1: 123456}},
		{N: 1, Subject: subject, State: moderation.Aside},
	}
	entries := []moderation.Entry{{N: 12345, At: 1_700_000_000, By: long, Did: moderation.Settled, Subject: subject.String(), Why: long, Events: map[nostr.Kind]int64{1: 123456}}}
	told := func(width int) string {
		var b strings.Builder
		if err := printCases(&b, cases, width); err != nil {
			t.Fatal(err)
		}
		if err := printJournal(&b, entries, width); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for line := range strings.Lines(told(80)) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("%d: %s", n, line)
		}
	}
	if all := told(0); strings.Count(all, subject.String()) != 3 || strings.Count(all, long) != 4 || strings.Contains(all, "…") {
		t.Error(all)
	}
	if !strings.Contains(told(80), "CASE  STATE      EVENTS") || !strings.Contains(told(80), "12345  forgotten  123456") {
		t.Error(told(80))
	}
}
