package relay_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/relay"
)

// TestTranscripts plays the conversations in testdata/transcripts.txt, each with a new relay. Lines are
//
//	-- name --     begins a conversation
//	put NAME...    stores events as the sync engine would
//	> FRAME        the client sends it
//	>! FRAME       the same, and the relay may close the connection meanwhile
//	binary TEXT    the client sends it as a binary message
//	< FRAME        the relay sends it; * stands for any text
//	<~ FRAME       the same, of several in a row in any order
//	wait 5s        time passes
//	silence        nothing comes for a second
//	closed 1001 T  the relay closes the connection with that code and text
//
// ${NAME} is the JSON of an event, ${NAME.id} its id, ${author} the key of the announcement and ${x*N} a text of length N.
func TestTranscripts(t *testing.T) {
	for _, s := range readTranscripts(t, "testdata/transcripts.txt") {
		t.Run(s.name, func(t *testing.T) {
			inWorld(t, relay.Limits{Subscriptions: 3, Filters: 3, Values: 4, Tags: 10, EventBytes: 2000, MessageBytes: 8000, Limit: 5, DefaultLimit: 2},
				func(t *testing.T, w *world) { s.play(t, w) })
		})
	}
}

type transcript struct {
	name  string
	lines []string
}

func readTranscripts(t *testing.T, file string) (all []transcript) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	scanner := bufio.NewScanner(f)
	for scanner.Scan() {
		line := scanner.Text()
		switch {
		case strings.HasPrefix(line, "-- "):
			all = append(all, transcript{name: strings.Trim(line, "- ")})
		case line != "" && !strings.HasPrefix(line, "#"):
			last := &all[len(all)-1]
			last.lines = append(last.lines, line)
		}
	}
	if scanner.Err() != nil || len(all) == 0 {
		t.Fatalf("%s: %d conversations, %v", file, len(all), scanner.Err())
	}
	return all
}

func (s transcript) play(t *testing.T, w *world) {
	events := cast()
	c := w.dial(t)
	defer c.close()
	var anyOrder []string
	for _, line := range s.lines {
		verb, rest, _ := strings.Cut(line, " ")
		if verb != "<~" {
			matchAll(t, c, anyOrder)
			anyOrder = nil
		}
		switch verb {
		case "put":
			for name := range strings.FieldsSeq(rest) {
				w.put(t, events[name])
			}
		case ">":
			c.send(t, fill(t, events, rest))
		case ">!":
			c.conn.Write(context.Background(), websocket.MessageText, []byte(fill(t, events, rest)))
		case "binary":
			if err := c.conn.Write(context.Background(), websocket.MessageBinary, []byte(rest)); err != nil {
				t.Fatal(err)
			}
		case "<":
			matchAll(t, c, []string{fill(t, events, rest)})
		case "<~":
			anyOrder = append(anyOrder, fill(t, events, rest))
		case "wait":
			d, err := time.ParseDuration(rest)
			if err != nil {
				t.Fatal(err)
			}
			c.idle(t, d)
		case "silence":
			c.idle(t, time.Second)
		case "closed":
			_, err := c.next(time.Minute)
			if got := fmt.Sprintf("%d %s", websocket.CloseStatus(err), reason(err)); got != rest {
				t.Fatalf("closed with %q, want %q (%v)", got, rest, err)
			}
			return
		default:
			t.Fatalf("what is %q?", line)
		}
	}
	matchAll(t, c, anyOrder)
	c.send(t, `["CLOSE","the connection lives"]`)
	c.idle(t, time.Second)
}

// matchAll reads as many frames as there are patterns; each must match one that no other has.
func matchAll(t *testing.T, c *client, patterns []string) {
	t.Helper()
	for len(patterns) > 0 {
		frame := c.read(t)
		i := slices.IndexFunc(patterns, func(p string) bool {
			return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(p), `\*`, ".*") + "$").MatchString(frame)
		})
		if i < 0 {
			t.Fatalf("got  %.400s\nwant %.400s", frame, strings.Join(patterns, "\nor   "))
		}
		patterns = slices.Delete(patterns, i, i+1)
	}
}

var variable = regexp.MustCompile(`\$\{([^}]+)\}`)

func fill(t *testing.T, events map[string]*nostr.Event, line string) string {
	return variable.ReplaceAllStringFunc(line, func(v string) string {
		name := v[2 : len(v)-1]
		if text, n, ok := strings.Cut(name, "*"); ok {
			count, err := strconv.Atoi(n)
			if err != nil {
				t.Fatal(err)
			}
			return strings.Repeat(text, count)
		}
		if name == "author" {
			return key(1).String()
		}
		name, isID := strings.CutSuffix(name, ".id")
		e := events[name]
		switch {
		case e == nil:
			t.Fatalf("no event %q", name)
		case isID:
			return e.ID.String()
		}
		return string(e.AppendJSON(nil))
	})
}

// cast are the events of the conversations. It is midnight, 2000-01-01 UTC, in all of them.
func cast() map[string]*nostr.Event {
	now := time.Now().Unix()
	first := issue(now-30, "first")
	events := map[string]*nostr.Event{
		"announcement":     announcement(),
		"first":            first,
		"second":           issue(now-20, "second"),
		"third":            issue(now-10, "third"),
		"comment":          event(3, now-5, nostr.KindComment, "I agree", nostr.Tag{"E", first.ID.String()}),
		"deletion":         event(2, now, nostr.KindDeletion, "", nostr.Tag{"e", first.ID.String()}),
		"deletion-of-none": event(2, now, nostr.KindDeletion, "", nostr.Tag{"e", key(7).String()}),
		"foreign":          event(4, now, nip34.KindIssue, "", nostr.Tag{"a", "30617:" + key(9).String() + ":elsewhere"}),
		"short-lived":      issue(now, "soon gone", nostr.Tag{"expiration", strconv.FormatInt(now+60, 10)}),
		"large":            issue(now, strings.Repeat("x", 2000)),
		"tagged":           issue(now, "tags", slices.Repeat([]nostr.Tag{{"t", "x"}}, 10)...),
		"auth":             event(5, now, nostr.KindAuth, ""),
	}
	forged := events["second"].Clone()
	forged.Content = "forged"
	events["forged"] = forged
	return events
}
