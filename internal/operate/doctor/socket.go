package doctor

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/coder/websocket"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// What the test announcement is called, and for how many seconds relays keep it and its withdrawal where they honour NIP-40.
const (
	testIdentifier = "graspd-doctor"
	testLife       = 24 * 60 * 60
)

// talk opens a WebSocket, sends messages, and hands each answer to until, until that returns true. Where the server refuses the WebSocket it
// returns the status code of the answer with the error.
func (x *examination) talk(ctx context.Context, messages []string, until func(nostr.RelayMessage) bool) (status int, err error) {
	at := "ws" + strings.TrimPrefix(x.at.String(), "http") + "/"
	c, r, err := websocket.Dial(ctx, at, &websocket.DialOptions{HTTPClient: x.client})
	if err != nil {
		if r != nil {
			status = r.StatusCode
		}
		return status, err
	}
	defer c.CloseNow()
	c.SetReadLimit(mostBody)
	for _, m := range messages {
		if err := c.Write(ctx, websocket.MessageText, []byte(m)); err != nil {
			return 0, err
		}
	}
	for {
		_, b, err := c.Read(ctx)
		if err != nil {
			return 0, err
		}
		m, err := nostr.ParseRelay(b)
		if err != nil {
			return 0, fmt.Errorf("the answer is no message of a relay: %w", err)
		}
		if until(m) {
			c.Close(websocket.StatusNormalClosure, "")
			return 0, nil
		}
	}
}

// websocket subscribes, and waits for the end of the stored events.
func (x *examination) websocket(ctx context.Context) bool {
	refused := ""
	status, err := x.talk(ctx, []string{`["REQ","doctor",{"kinds":[30617],"limit":1}]`}, func(m nostr.RelayMessage) bool {
		switch m := m.(type) {
		case nostr.EOSE:
			return true
		case nostr.Closed:
			refused = m.Reason
			return true
		}
		return false
	})
	const mend = "The web server has to pass WebSocket upgrades on.\n" +
		"  nginx: proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection \"upgrade\";\n" +
		"  Caddy does so by itself."
	switch {
	case status == http.StatusTooManyRequests:
		x.say("websocket", Warning, "the relay has had too many connections from this address; try again later", "")
	case err != nil:
		x.say("websocket", Fault, fmt.Sprintf("no subscription: %v", err), mend)
		return false
	case x.private && strings.HasPrefix(refused, "auth-required:"):
		x.fine("websocket", "a stranger's subscription is refused, as the relay is private")
	case x.private:
		x.say("websocket", Fault, "the relay says that it is private, and answers a stranger's subscription", "What answers is not graspd with --private: look at where the web server leads.")
	case refused != "":
		x.say("websocket", Warning, "the relay refuses subscriptions of strangers: "+refused, "")
	default:
		x.fine("websocket", "a subscription is answered")
	}
	return true
}

// announcement publishes an announcement by the test key, and withdraws it.
func (x *examination) announcement(ctx context.Context) bool {
	if !x.Publish {
		return true
	}
	now := x.Now().Unix()
	ends := nostr.Tag{"expiration", strconv.FormatInt(now+testLife, 10)}
	tags := nostr.Tags{{"d", testIdentifier}, {"name", "graspd doctor"}, {"description", "a test, withdrawn at once"},
		{"relays", string(x.service.RelayURL())}, {"clone", x.service.CloneURL(x.Key.PubKey(), testIdentifier)}, ends}
	announced, withdrawn := &nostr.Event{CreatedAt: now, Kind: nip34.KindRepository, Tags: tags}, &nostr.Event{CreatedAt: now + 1, Kind: nostr.KindDeletion, Tags: nostr.Tags{}}
	err := x.Key.Sign(announced, [32]byte{})
	if err == nil {
		withdrawn.Tags = nostr.Tags{{"e", announced.ID.String()}, {"a", nip34.Address{Kind: nip34.KindRepository, PubKey: x.Key.PubKey(), D: testIdentifier}.String()}, ends}
		err = x.Key.Sign(withdrawn, [32]byte{})
	}
	if err != nil {
		x.say("announcement", Skipped, fmt.Sprintf("it cannot be signed: %v", err), "")
		return true
	}
	first, err := x.publish(ctx, announced)
	if err != nil {
		x.say("announcement", Fault, fmt.Sprintf("a test announcement was not answered: %v", err), "")
		return true
	}
	last, err := x.publish(ctx, withdrawn)
	switch {
	case !first.OK && x.private && strings.HasPrefix(first.Reason, "auth-required:"):
		x.fine("announcement", "a stranger's is refused, as the relay is private")
	case !first.OK:
		level, mend := Fault, x.mendRefusal(first.Reason)
		if mend == "" && x.limited {
			level, mend = Warning, "That is right where the lists of this relay name who may publish here."
		}
		x.say("announcement", level, "a test announcement that lists this relay is refused: "+first.Reason, mend)
	case err != nil || !last.OK:
		if err != nil {
			last.Reason = err.Error()
		}
		x.say("announcement", Warning, "a test announcement was taken, and withdrawing it was not: "+last.Reason, "It lapses by itself after 30 minutes without git data.")
	default:
		x.fine("announcement", "a test announcement was taken, and withdrawn")
	}
	return true
}

// mendRefusal says what to do about the refusal of an announcement.
func (x *examination) mendRefusal(reason string) string {
	if strings.Contains(reason, "relays tag") || strings.Contains(reason, "clone tag") {
		return fmt.Sprintf("The relay takes itself for another name. Start graspd with\n  --domain %s", x.service)
	}
	return ""
}

func (x *examination) publish(ctx context.Context, e *nostr.Event) (ok nostr.OK, err error) {
	_, err = x.talk(ctx, []string{string(nostr.AppendEventMsg(nil, e))}, func(m nostr.RelayMessage) bool {
		answer, is := m.(nostr.OK)
		if is && answer.ID == e.ID {
			ok = answer
			return true
		}
		return false
	})
	return ok, err
}
