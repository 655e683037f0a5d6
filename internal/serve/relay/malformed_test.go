package relay_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/serve/relay"
)

// TestMalformed sends what is no message. Each is answered, and the connection lives.
func TestMalformed(t *testing.T) {
	const id = "5be5bd5bec152f5ecedc1cd9bb39d43b57b7c6036c7d4d710410815adbe9d240"
	const notice = `\["NOTICE","invalid: .+"\]`
	const okFalse = `\["OK","` + id + `",false,"invalid: .+"\]`
	const closed = `\["CLOSED","a","invalid: .+"\]`
	eventWith := func(fields string) string { return `["EVENT",{"id":"` + id + `",` + fields + `}]` }
	rest := `"pubkey":"` + id + `","created_at":1,"kind":1,"tags":[],"content":"","sig":"` + id + id + `"`
	tests := []struct{ name, frame, answer string }{
		{"nothing", ``, notice},
		{"blank", `   `, notice},
		{"no JSON", `hello`, notice},
		{"no array", `{"a":1}`, notice},
		{"empty array", `[]`, notice},
		{"verb is a number", `[1,"a"]`, notice},
		{"unknown verb", `["SUBSCRIBE","a"]`, notice},
		{"lower-case verb", `["req","a",{}]`, notice},
		{"cut short", `["REQ","a",{`, closed},
		{"something after the end", `["REQ","a",{}] x`, closed},
		{"invalid UTF-8 in a filter", "[\"REQ\",\"a\",{\"#t\":[\"\xff\xfe\"]}]", closed},
		{"nested 100 deep", `["REQ","a",` + strings.Repeat(`[`, 100) + strings.Repeat(`]`, 100) + `]`, closed},
		{"nested 100,000 deep", strings.Repeat(`[`, 100_000) + strings.Repeat(`]`, 100_000), notice},
		{"a key twice", `["REQ","a",{"kinds":[1],"kinds":[2]}]`, closed},
		{"no filter", `["REQ","a"]`, closed},
		{"filter is null", `["REQ","a",null]`, closed},
		{"sub id is a number", `["REQ",1,{}]`, notice},
		{"kinds as strings", `["REQ","a",{"kinds":["1"]}]`, closed},
		{"kind out of range", `["REQ","a",{"kinds":[65536]}]`, closed},
		{"negative since", `["REQ","a",{"since":-1}]`, closed},
		{"huge until", `["REQ","a",{"until":99999999999999999999}]`, closed},
		{"fractional limit", `["REQ","a",{"limit":1.5}]`, closed},
		{"limit as a string", `["REQ","a",{"limit":"5"}]`, closed},
		{"short id", `["REQ","a",{"ids":["abcd"]}]`, closed},
		{"upper-case author", `["REQ","a",{"authors":["` + strings.ToUpper(id) + `"]}]`, closed},
		{"CLOSE without an id", `["CLOSE"]`, notice},
		{"CLOSE of a number", `["CLOSE",5]`, notice},
		{"COUNT without a filter", `["COUNT","a"]`, closed},
		{"AUTH with text", `["AUTH","challenge"]`, notice},
		{"EVENT without one", `["EVENT"]`, notice},
		{"EVENT is null", `["EVENT",null]`, notice},
		{"EVENT with a sub id", `["EVENT","a",{}]`, notice},
		{"EVENT without an id", `["EVENT",{` + rest + `}]`, notice},
		{"EVENT with a short id", `["EVENT",{"id":"ab",` + rest + `}]`, notice},
		{"EVENT with an id only", `["EVENT",{"id":"` + id + `"}]`, okFalse},
		{"kind as a string", eventWith(strings.Replace(rest, `"kind":1`, `"kind":"1"`, 1)), okFalse},
		{"negative created_at", eventWith(strings.Replace(rest, `"created_at":1`, `"created_at":-1`, 1)), okFalse},
		{"huge created_at", eventWith(strings.Replace(rest, `"created_at":1`, `"created_at":99999999999999999999`, 1)), okFalse},
		{"created_at as a float", eventWith(strings.Replace(rest, `"created_at":1`, `"created_at":1.5`, 1)), okFalse},
		{"tags of numbers", eventWith(strings.Replace(rest, `[]`, `[[1]]`, 1)), okFalse},
		{"a lone surrogate", eventWith(strings.Replace(rest, `"content":""`, `"content":"\ud800"`, 1)), okFalse},
		{"control characters", eventWith(strings.Replace(rest, `"content":""`, "\"content\":\"\x01\"", 1)), okFalse},
		{"wrong id", eventWith(rest), okFalse},
		{"NEG-OPEN without a message", `["NEG-OPEN","a",{}]`, `\["NEG-ERR","a","invalid: .+"\]`},
		{"NEG-MSG without an id", `["NEG-MSG"]`, notice},
		{"NEG-CLOSE of a number", `["NEG-CLOSE",1]`, notice},
		{"2 MB of a REQ", `["REQ","a",{"#t":["` + strings.Repeat("x", 2<<20) + `"]}]`, closed},
		{"2 MB of an event", eventWith(strings.Replace(rest, `"content":""`, `"content":"`+strings.Repeat("x", 2<<20)+`"`, 1)), okFalse},
		{"2 MB of nothing", strings.Repeat(" ", 2<<20), notice},
		{"2 MB of brackets", strings.Repeat("[", 2<<20), notice},
		{"an event with a key twice", eventWith(rest + `,"kind":2`), okFalse},
	}
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		c := w.dial(t)
		defer c.close()
		for _, tt := range tests {
			c.send(t, tt.frame)
			if got := c.read(t); !regexp.MustCompile("^" + tt.answer + "$").MatchString(got) {
				t.Errorf("%s: got %.300s, want %s", tt.name, got, tt.answer)
			}
			c.send(t, `["REQ","lives",{"limit":0}]`)
			c.expect(t, `["EOSE","lives"]`)
		}
	})
}

// TestMutatedFrames sends frames with bytes changed, cut and repeated. Whatever they mean, the connection lives.
func TestMutatedFrames(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		w.put(t, announcement())
		e := string(issue(time.Now().Unix(), "text").AppendJSON(nil))
		frames := []string{
			`["EVENT",` + e + `]`, `["AUTH",` + e + `]`, `["REQ","a",{"kinds":[1621],"#a":["x"],"since":1,"limit":3},{}]`, `["CLOSE","a"]`,
			`["COUNT","a",{"ids":["` + strings.Repeat("ab", 32) + `"]}]`, `["NEG-OPEN","n",{"until":5},"6100000200"]`,
			`["NEG-MSG","n","6100000200"]`, `["NEG-CLOSE","n"]`,
		}
		c := w.dial(t)
		defer c.close()
		r := rand.New(rand.NewPCG(1, 2))
		for n := range 4000 / slower {
			b := []byte(frames[r.IntN(len(frames))])
			for range r.IntN(4) {
				from, to := r.IntN(len(b)), r.IntN(len(b))
				switch r.IntN(4) {
				case 0:
					b[from] = `"[]{},:\0a1 `[r.IntN(12)]
				case 1:
					b[from] = byte(r.Uint32())
				case 2:
					b = append(b[:min(from, to)], b[max(from, to):]...)
				case 3:
					b = slices.Concat(b[:max(from, to)], b[min(from, to):])
				}
				if len(b) == 0 {
					b = []byte("[")
				}
			}
			c.send(t, string(b))
			lives := fmt.Sprintf(`["EOSE","lives %d"]`, n)
			c.send(t, fmt.Sprintf(`["REQ","lives %d",{"limit":0}]`, n))
			c.send(t, fmt.Sprintf(`["CLOSE","lives %d"]`, n))
			for {
				frame, err := c.next(time.Second)
				if errors.Is(err, context.DeadlineExceeded) {
					break // the CLOSE came first
				}
				if err != nil {
					t.Fatalf("after %q: %v", b, err)
				}
				if frame == lives {
					break
				}
			}
		}
		c.send(t, `["REQ","end",{"limit":0}]`)
		for c.read(t) != `["EOSE","end"]` {
		}
	})
}
