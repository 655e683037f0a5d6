package peer

import (
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

func TestResyncInterval(t *testing.T) {
	at := make(map[time.Duration]bool)
	for i := range 200 {
		p := NewPeer(Config{Self: nostr.PubKey{byte(i)}, URL: "wss://a.example"})
		p.now.Mono = time.Duration(i) * time.Hour
		p.scheduleResync()
		wait := p.resyncAt - p.now.Mono
		if wait < 23*time.Hour || wait > 25*time.Hour {
			t.Fatalf("next resync in %v", wait)
		}
		at[wait] = true
	}
	if len(at) < 190 {
		t.Error("resyncs are not spread")
	}
}
