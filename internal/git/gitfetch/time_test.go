package gitfetch_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/git/gitfetch"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// then has a site write something after its answers have been given.
func then(answers []string, more func(c io.Writer)) site {
	i := 0
	return func(c io.Writer, q *http.Request) bool {
		if _, err := io.WriteString(c, answers[i]); err != nil {
			return false
		}
		if i++; i == len(answers) {
			more(c)
			return false
		}
		return true
	}
}

// drip writes a text again and again, 32 MiB of it, which is as good as without end.
func drip(text string, every time.Duration) func(io.Writer) {
	return func(c io.Writer) {
		for n := 0; n < 32<<20; n += len(text) {
			if _, err := io.WriteString(c, text); err != nil {
				return
			}
			if every > 0 {
				time.Sleep(every)
			}
		}
	}
}

// silent waits for the end of the connection.
func silent(c io.Writer) { io.Copy(io.Discard, c.(io.Reader)) }

// TestNobodyIsWaitedForLong: whatever a server does not do, or does without end.
func TestNobodyIsWaitedForLong(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\n"
	begins := open("result", "packfile\n", "\x01PACK")
	for _, tt := range []struct {
		name    string
		answers []string
		more    func(io.Writer)
		want    error
		least   time.Duration
		most    time.Duration
	}{
		{"silent at first", []string{""}, silent, gitfetch.ErrSilent, time.Minute, time.Minute},
		{"silent in the header", []string{head}, silent, gitfetch.ErrSilent, time.Minute, time.Minute},
		{"silent in what it offers", []string{offers2[:len(offers2)-5]}, silent, gitfetch.ErrSilent, time.Minute, time.Minute},
		{"silent before the refs", []string{offers2, ""}, silent, gitfetch.ErrSilent, time.Minute, time.Minute},
		{"silent in a pack", []string{offers2, refs2, begins}, silent, gitfetch.ErrSilent, time.Minute, time.Minute},
		{"silent after a pack", []string{offers2, refs2, open("result", "packfile\n", "\x01PACK", "flush")}, silent, gitfetch.ErrSilent, time.Minute, time.Minute},
		{"a header by bytes", []string{head + "X: "}, drip("x", time.Second), gitfetch.ErrSilent, time.Minute, 62 * time.Second},
		{"refs by bytes", []string{offers2, open("result", "raw:f000")}, drip("x", time.Second), gitfetch.ErrSilent, time.Minute, 62 * time.Second},
		{"a pack by bytes", []string{offers2, refs2, begins}, drip("0006\x01x", 10*time.Second), gitfetch.ErrSilent, time.Minute, 72 * time.Second},
		{"keep-alives", []string{offers2, refs2, begins}, drip("0005\x01", 5*time.Second), gitfetch.ErrSilent, time.Minute, 67 * time.Second},
		{"progress and no pack", []string{offers2, refs2, open("result", "packfile\n")}, drip("000a\x02still", 5*time.Second), gitfetch.ErrSilent, 5 * time.Minute, 306 * time.Second},
		{"a pack just fast enough, without end", []string{offers2, refs2, begins}, drip("0405\x01"+strings.Repeat("x", 1024), time.Second), gitfetch.ErrSilent, 30 * time.Minute, 30 * time.Minute},

		{"an endless header", []string{head}, drip("X: "+strings.Repeat("x", 1000)+"\r\n", 0), nil, 0, 0},
		{"endless early hints", []string{""}, drip("HTTP/1.1 103 Early Hints\r\nX: x\r\n\r\n", 0), nil, 0, 0},
		{"endless offers", []string{open("advertisement", "version 2\n")}, drip(frames("x=y\n"), 0), gitfetch.ErrTooMuch, 0, 0},
		{"endless refs", []string{offers2, open("result")}, drip(frames(hexOf("1")+" refs/pull/1/head\n"), 0), gitfetch.ErrTooMuch, 0, 0},
		{"an endless pack", []string{offers2, refs2, begins}, drip(frames("\x01"+strings.Repeat("x", 60000)), 0), gitfetch.ErrTooMuch, 0, 0},
		{"endless progress", []string{offers2, refs2, begins}, drip(frames("\x02"+strings.Repeat("x", 60000)), 0), gitfetch.ErrTooMuch, 0, 0},
		{"endless keep-alives", []string{offers2, refs2, begins}, drip(strings.Repeat(frames("\x01"), 1000), 0), gitfetch.ErrTooMuch, 0, 0},
		{"an endless refusal", []string{"HTTP/1.1 404 Not Found\r\n\r\n"}, drip("no ", 0), nil, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := one(t, "")
				n.hosts["1.1.1.1:80"] = then(tt.answers, tt.more)
				r := wanted(nil, "1")
				r.MaxBytes = 4 << 20
				r.Pack = func(_ context.Context, _ []gitwire.ObjectID, pack io.Reader) error {
					_, err := io.Copy(io.Discard, pack)
					return err
				}
				begun := time.Now()
				res, err := n.client(gitfetch.Bounds{}).Fetch(t.Context(), r)
				took := time.Since(begun)
				if err == nil || tt.want != nil && !errors.Is(err, tt.want) || took < tt.least || took > tt.most {
					t.Errorf("after %v: %v", took, err)
				}
				if res.Bytes > 10<<20 {
					t.Errorf("%d bytes are taken", res.Bytes)
				}
			})
		})
	}
}

// TestASlowCaller is no fault of the server's: only time that is spent waiting for bytes counts.
func TestASlowCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := one(t, offers2, refs2, answer("result", "packfile\n", "raw:"+strings.Repeat(frames("\x01"+strings.Repeat("x", 1000)), 300), "flush"))
		r := wanted(nil, "1")
		total, beats := 0, 0
		r.Alive = func() { beats++ }
		r.Pack = func(_ context.Context, _ []gitwire.ObjectID, pack io.Reader) error {
			for b := make([]byte, 20_000); ; time.Sleep(time.Second) {
				k, err := pack.Read(b)
				if total += k; err == io.EOF {
					return nil
				}
				if err != nil {
					return err
				}
			}
		}
		if _, err := n.client(gitfetch.Bounds{}).Fetch(t.Context(), r); err != nil || total != 300_000 || beats < 3 {
			t.Errorf("%d bytes, %d beats, %v", total, beats, err)
		}
	})
}

// TestALongCount: a server that says how it goes may take some minutes until a large pack begins.
func TestALongCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := one(t, "")
		n.hosts["1.1.1.1:80"] = then([]string{offers2, refs2, open("result", "packfile\n")}, func(c io.Writer) {
			for range 240 {
				io.WriteString(c, frames("\x02Counting\r"))
				time.Sleep(time.Second)
			}
			for range 100 {
				io.WriteString(c, frames("\x01"+strings.Repeat("x", 2000)))
				time.Sleep(time.Second)
			}
			io.WriteString(c, frames("flush"))
		})
		var packs []string
		if _, err := n.client(gitfetch.Bounds{}).Fetch(t.Context(), wanted(&packs, "1")); err != nil || len(packs) != 1 || len(packs[0]) != 200_000 {
			t.Errorf("%d packs, %v", len(packs), err)
		}
	})
}

// TestABoundThatIsReachedExactly is none that is exceeded.
func TestABoundThatIsReachedExactly(t *testing.T) {
	for most, ok := range map[int64]bool{13: true, 12: false} {
		synctest.Test(t, func(t *testing.T) {
			r := wanted(nil, "1")
			r.MaxBytes = most
			_, err := one(t, offers2, refs2, pack2).client(gitfetch.Bounds{}).Fetch(t.Context(), r)
			if (err == nil) != ok || !ok && !errors.Is(err, gitfetch.ErrTooMuch) {
				t.Errorf("%d bytes: %v", most, err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // of all packs together
		r := wanted(nil, "1", "2")
		r.MaxBytes = 20
		_, err := one(t, offers2, refs2, pack2).client(gitfetch.Bounds{}).Fetch(t.Context(), r)
		if !errors.Is(err, gitfetch.ErrTooMuch) {
			t.Error(err)
		}
	})
}

// TestTheContextEndsAFetch wherever it is.
func TestTheContextEndsAFetch(t *testing.T) {
	own := errors.New("the repository is gone")
	for _, answers := range [][]string{{""}, {offers2[:50]}, {offers2, ""}, {offers2, refs2, open("result", "packfile\n", "\x01PACK")}, {"HTTP/1.1 404 Not Found\r\n\r\n"}} {
		synctest.Test(t, func(t *testing.T) {
			n := one(t, "")
			n.hosts["1.1.1.1:80"] = then(answers, silent)
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(own) })
			begun := time.Now()
			if _, err := n.client(gitfetch.Bounds{}).Fetch(ctx, wanted(nil, "1")); !errors.Is(err, own) || time.Since(begun) != time.Second {
				t.Errorf("after %v: %v", time.Since(begun), err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // while nobody answers the dial
		n := one(t, "")
		delete(n.hosts, "1.1.1.1:80")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(own) })
		if _, err := n.client(gitfetch.Bounds{}).Fetch(ctx, wanted(nil, "1")); !errors.Is(err, own) {
			t.Error(err)
		}
		begun := time.Now()
		if _, err := n.client(gitfetch.Bounds{}).Fetch(t.Context(), wanted(nil, "1")); !errors.Is(err, gitfetch.ErrSilent) || errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != 10*time.Second {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
	})
}

// TestManyWants are asked for in requests that servers take.
func TestManyWants(t *testing.T) {
	var lines []string
	groups := make([][]gitwire.ObjectID, 3)
	for i := range 20_000 {
		id := gitwire.ObjectIDOf([20]byte{1, byte(i >> 8), byte(i)})
		lines = append(lines, id.String()+" refs/tags/t"+id.String()+"\n")
		groups[i/8000] = append(groups[i/8000], id)
	}
	synctest.Test(t, func(t *testing.T) {
		n := one(t, offers2, answer("result", append(lines, "flush")...), pack2)
		var packs []string
		r := wanted(&packs)
		r.Groups = groups
		for i := range 1000 {
			r.Haves = append(r.Haves, gitwire.ObjectIDOf([20]byte{2, byte(i >> 8), byte(i)}))
		}
		res, err := n.client(gitfetch.Bounds{}).Fetch(t.Context(), r)
		if err != nil || len(packs) != 2 || len(res.Lacks) > 0 || res.Requests != 4 {
			t.Fatalf("%d packs, %d requests, lacks %d, %v", len(packs), res.Requests, len(res.Lacks), err)
		}
		for i, want := range []int{16_000, 4000} {
			q, err := gitwire.ParseRequest(bytes.NewReader([]byte(n.bodies[2+i])), 2)
			if err != nil || len(q.Fetch.Wants) != want || len(q.Fetch.Haves) != 256 || len(n.bodies[2+i]) > 1<<20 || !q.Fetch.Done || !q.Fetch.ThinPack {
				t.Errorf("request %d: %d bytes, %d wants, %v", i, len(n.bodies[2+i]), len(q.Fetch.Wants), err)
			}
		}
	})
}

// TestARequestThatIsNotRead has an answer all the same, or an end.
func TestARequestThatIsNotRead(t *testing.T) {
	var lines []string
	r := wanted(nil)
	r.Groups = make([][]gitwire.ObjectID, 1)
	for i := range 10_000 {
		id := gitwire.ObjectIDOf([20]byte{1, byte(i >> 8), byte(i)})
		lines = append(lines, id.String()+" refs/tags/t"+id.String()+"\n")
		r.Groups[0] = append(r.Groups[0], id)
	}
	for name, last := range map[string]func(net.Conn){
		"refused": func(c net.Conn) {
			io.ReadFull(c, make([]byte, 1000))
			io.WriteString(c, "HTTP/1.1 413 Payload Too Large\r\nContent-Length: 3\r\n\r\nno\n")
		},
		"cut off": func(c net.Conn) { io.ReadFull(c, make([]byte, 1000)) },
		"left":    func(c net.Conn) { time.Sleep(2 * time.Minute) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := one(t, "")
				first := true
				n.raw = map[string]func(net.Conn){"1.1.1.1:80": func(c net.Conn) {
					defer c.Close()
					b := bufio.NewReader(c)
					for _, a := range []string{offers2, answer("result", append(lines, "flush")...)} {
						if !first {
							break
						}
						q, err := http.ReadRequest(b)
						if err != nil {
							t.Error(err)
							return
						}
						io.Copy(io.Discard, q.Body)
						io.WriteString(c, a)
					}
					first = false
					last(c)
				}}
				begun := time.Now()
				_, err := n.client(gitfetch.Bounds{}).Fetch(t.Context(), r)
				status, is := errors.AsType[*gitfetch.StatusError](err)
				_, broken := errors.AsType[*gitfetch.ProtocolError](err)
				switch {
				case err == nil || broken || time.Since(begun) > time.Minute,
					(name == "refused") != is || is && (status.Code != 413 || status.Text != "no"),
					(name == "left") != errors.Is(err, gitfetch.ErrSilent):
					t.Errorf("after %v: %v", time.Since(begun), err)
				}
			})
		})
	}
}
