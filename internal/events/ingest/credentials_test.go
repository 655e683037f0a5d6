package ingest_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestCredentialsInACloneURL: the publisher hears of them, and the log, which does not repeat them.
func TestCredentialsInACloneURL(t *testing.T) {
	const text = "a clone URL with a user name or password is not used, and everybody can read it: change the password, and publish the URL without it"
	var log bytes.Buffer
	h := newHost(t, setup{config: ingest.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}})
	defer h.end()
	now := time.Now()
	clone := nostr.Tag{"clone", "https://me:secret@git.example.net/tool.git"}
	if v := h.publish(h.client(), hostedBy(t, 1, "tool", now, clone)); v.Outcome != policy.Wait || v.Reason != inPurgatory+"; "+text {
		t.Errorf("%s %q", v.Outcome, v.Reason)
	}
	h.want(h.publish(h.client(), stateOf(1, "tool", now, "")), policy.Accept)
	if v := h.publish(h.client(), hostedBy(t, 1, "tool", now.Add(time.Second), clone)); v.Outcome != policy.Accept || v.Reason != text {
		t.Errorf("%s %q", v.Outcome, v.Reason)
	}
	if v := h.publish(h.client(), hostedBy(t, 1, "tool", now.Add(2*time.Second))); v.Outcome != policy.Accept || v.Reason != "" {
		t.Errorf("%s %q", v.Outcome, v.Reason)
	}
	pr := event(2, now, nip34.KindPullRequest, "", nostr.Tag{"a", hostedBy(t, 1, "tool", now).Address()}, nostr.Tag{"c", commitID(1).String()}, clone)
	if v := h.publish(h.client(), pr); v.Outcome != policy.Wait || !strings.HasSuffix(v.Reason, "; "+text) {
		t.Errorf("%s %q", v.Outcome, v.Reason)
	}
	h.end()
	if n := strings.Count(log.String(), "not used"); n != 3 || strings.Contains(log.String(), "secret") {
		t.Errorf("%s", log.String())
	}
}
