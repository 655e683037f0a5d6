package githttp

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestBodiesInflateInTurns: who inflates has a turn, and none while it waits for bytes of its client.
func TestBodiesInflateInTurns(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write([]byte("what was sent")); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		turns := make(chan struct{}, 1)
		src, client := io.Pipe()
		raw := &body{src: src, c: http.NewResponseController(httptest.NewRecorder()), got: new(atomic.Uint64), until: time.Now().Add(time.Hour)}
		read := make(chan string)
		go func() {
			b, err := io.ReadAll(newInflated(raw, turns))
			if err != nil {
				b = []byte(err.Error())
			}
			read <- string(b)
		}()
		synctest.Wait()
		select {
		case turns <- struct{}{}: // somebody else's
		default:
			t.Fatal("who waits for bytes keeps a turn")
		}
		go func() {
			_, _ = client.Write(zipped.Bytes())
			client.Close()
		}()
		synctest.Wait()
		select {
		case got := <-read:
			t.Fatalf("%q, without a turn", got)
		default:
		}
		<-turns
		if got := <-read; got != "what was sent" || len(turns) != 0 {
			t.Errorf("%q, and %d turns are taken", got, len(turns))
		}
	})
}
