package relaysync

import (
	"errors"
	"fmt"
	"testing"
)

// The cause of a failure stands beside the relay's URL, so the URL is not said in it again.
func TestReasonOf(t *testing.T) {
	refused := errors.New("dial tcp 127.0.0.1:1: connect: connection refused")
	if got := reasonOf(fmt.Errorf("dial wss://a.example: %w", refused), "wss://a.example"); got != refused.Error() {
		t.Error(got)
	}
	if got := reasonOf(refused, "wss://a.example"); got != refused.Error() {
		t.Error(got)
	}
}
