package relay_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/relay"
)

// told returns the limits of the information document.
func (w *world) told(t *testing.T) nip11.Limitation {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, "http://"+domain+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", nip11.ContentType)
	tr := w.transport("198.51.100.77:1")
	defer tr.CloseIdleConnections()
	res, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var d nip11.Document
	if err := json.NewDecoder(res.Body).Decode(&d); err != nil {
		t.Fatal(err)
	}
	return d.Limitation
}

// padded is a message with blanks before its end, so that it has so many bytes.
func padded(message string, bytes int) string {
	return message[:len(message)-1] + strings.Repeat(" ", bytes-len(message)) + message[len(message)-1:]
}

// TestTheLimitsThatAreTold: what is just within a limit of the information document is taken, and one more is refused with a text that says the limit.
func TestTheLimitsThatAreTold(t *testing.T) {
	inWorld(t, relay.Limits{}, func(t *testing.T, w *world) {
		l := w.told(t)
		c := w.dial(t)
		defer c.close()
		w.put(t, announcement())
		now := time.Now().Unix()
		taken := func(e *nostr.Event) (frame, want string) {
			return string(nostr.AppendEventMsg(nil, e)), fmt.Sprintf(`["OK","%s",true,""]`, e.ID)
		}
		refused := func(e *nostr.Event, why string) (frame, want string) {
			return string(nostr.AppendEventMsg(nil, e)), fmt.Sprintf(`["OK","%s",false,"invalid: %s"]`, e.ID, why)
		}
		asks := func(what, frame, want string) {
			t.Helper()
			c.send(t, frame)
			if got := c.read(t); got != want {
				t.Errorf("%s: %.200s, not %s", what, got, want)
			}
		}

		const req = `["REQ","s",{"kinds":[1]}]`
		frame, want := taken(issue(now, "in a large message"))
		large := fmt.Sprintf("message too large: at most %d bytes", l.MaxMessageLength)
		asks("a message", padded(req, l.MaxMessageLength), `["EOSE","s"]`)
		asks("a longer message", padded(req, l.MaxMessageLength+1), fmt.Sprintf(`["CLOSED","s","invalid: %s"]`, large))
		asks("an event's message", padded(frame, l.MaxMessageLength), want)
		frame, want = refused(issue(now, "in a message that is too large"), large)
		asks("a longer message of an event", padded(frame, l.MaxMessageLength+1), want)
		c.send(t, `["CLOSE","s"]`)

		for _, letter := range []string{"x", "ä", "\U0001f600"} {
			id := strings.Repeat(letter, l.MaxSubIDLength)
			asks("an id", fmt.Sprintf(`["REQ","%s",{"kinds":[1]}]`, id), fmt.Sprintf(`["EOSE","%s"]`, id))
			c.send(t, fmt.Sprintf(`["CLOSE","%s"]`, id))
			id += letter
			asks("a longer id", fmt.Sprintf(`["REQ","%s",{"kinds":[1]}]`, id), fmt.Sprintf(`["NOTICE","invalid: subscription id: longer than %d characters"]`, l.MaxSubIDLength))
		}

		filters := strings.Repeat(`,{"kinds":[1]}`, l.MaxFilters)
		asks("filters", `["REQ","f"`+filters+`]`, `["EOSE","f"]`)
		c.send(t, `["CLOSE","f"]`)
		asks("more filters", `["REQ","f",{}`+filters+`]`, fmt.Sprintf(`["CLOSED","f","invalid: too many filters in one REQ: %d, at most %d"]`, l.MaxFilters+1, l.MaxFilters))

		for n := range l.MaxSubscriptions {
			asks("a subscription", fmt.Sprintf(`["REQ","%d",{"kinds":[1]}]`, n), fmt.Sprintf(`["EOSE","%d"]`, n))
		}
		asks("one more", `["REQ","more",{"kinds":[1]}]`, fmt.Sprintf(`["CLOSED","more","blocked: too many subscriptions: at most %d at once, close one first"]`, l.MaxSubscriptions))
		asks("one again", `["REQ","0",{"kinds":[2]}]`, `["EOSE","0"]`)
		for n := range l.MaxSubscriptions {
			c.send(t, fmt.Sprintf(`["CLOSE","%d"]`, n))
		}

		tags := func(n int) (tags []nostr.Tag) {
			for i := range n - 1 { // the first names the repository
				tags = append(tags, nostr.Tag{"t", fmt.Sprint(i)})
			}
			return tags
		}
		frame, want = taken(issue(now, "tags", tags(l.MaxEventTags)...))
		asks("tags", frame, want)
		frame, want = refused(issue(now, "tags", tags(l.MaxEventTags+1)...), fmt.Sprintf("event has more than %d tags; remove some", l.MaxEventTags))
		asks("more tags", frame, want)

		frame, want = taken(issue(now, strings.Repeat("x", l.MaxContentLength)))
		asks("content", frame, want)
		frame, want = refused(issue(now, strings.Repeat("x", l.MaxContentLength+1)), fmt.Sprintf("content longer than %d characters; shorten it", l.MaxContentLength))
		asks("more content", frame, want)

		if l.CreatedAtLowerLimit != 0 {
			t.Errorf("events may be %d s old at most", l.CreatedAtLowerLimit)
		}
		for _, at := range []int64{0, 1, time.Now().Unix() + l.CreatedAtUpperLimit} {
			frame, want = taken(issue(at, "its time"))
			asks(fmt.Sprint("created at ", at), frame, want)
		}
		ahead := issue(time.Now().Unix()+l.CreatedAtUpperLimit+1, "ahead of its time")
		c.send(t, string(nostr.AppendEventMsg(nil, ahead)))
		if got := c.read(t); !strings.HasPrefix(got, fmt.Sprintf(`["OK","%s",false,"invalid: `, ahead.ID)) || !strings.Contains(got, "future") {
			t.Errorf("created a second later: %s", got)
		}

		w.put(t, several(l.MaxLimit+1, 20)...)
		for _, n := range []int{l.MaxLimit, l.MaxLimit + 1} {
			c.send(t, fmt.Sprintf(`["REQ","limit",{"kinds":[1621],"limit":%d}]`, n))
			if _, others := c.events(t, "limit", l.MaxLimit); len(others) > 0 {
				t.Errorf("%q", others)
			}
			c.expect(t, `["EOSE","limit"]`)
			c.send(t, `["CLOSE","limit"]`)
		}
	})
}
