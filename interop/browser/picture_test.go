package browser

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/operate/admin"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/serve/relay"
	"github.com/graspd/graspd/internal/status"
)

// TestPicture takes the picture in the README: the operator's page of a small community after a day. PICTURE says where
// it is put, seen from this folder.
func TestPicture(t *testing.T) {
	name := os.Getenv("PICTURE")
	if name == "" {
		t.Skip("no PICTURE is asked for: make docs")
	}
	html, pages := aDay(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write(html)
		case "/page.css":
			pages.ServeHTTP(w, r)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	ctx := open(t, 1240, 900)
	var picture []byte
	do(t, ctx, "picture", chromedp.Navigate(server.URL+"/"), chromedp.FullScreenshot(&picture, 100))
	if err := os.WriteFile(name, smaller(t, picture), 0o644); err != nil {
		t.Fatal(err)
	}
}

// smaller keeps the 256 colours that are there most.
func smaller(t *testing.T, picture []byte) []byte {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[color.Color]int{}
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			seen[img.At(x, y)]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(seen), func(a, b color.Color) int { return seen[b] - seen[a] })
	few := image.NewPaletted(img.Bounds(), colours[:min(256, len(colours))])
	draw.Draw(few, few.Bounds(), img, image.Point{}, draw.Src)
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, few); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

type smallRelay struct{}

func (smallRelay) Stats() relay.Stats { return relay.Stats{Sessions: 38, Subscriptions: 112} }

// aDay is the page after a day, which passes in a moment.
func aDay(t *testing.T) (html []byte, pages *admin.Pages) {
	synctest.Test(t, func(t *testing.T) {
		days := &small{begun: time.Now()}
		pages = admin.New(admin.Config{
			URL: "wss://git.example.org", Version: "v1.0.0", Store: smallStore{}, Door: smallDoor{}, Sync: days,
			Relay: smallRelay{},
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); pages.Run(ctx) }()
		time.Sleep(24*time.Hour + time.Minute)
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, httptest.NewRequest("GET", "http://127.0.0.1/", nil))
		html = bytes.ReplaceAll(w.Body.Bytes(), []byte("2000-01-01"), []byte("2026-11-21")) // the day of the bubble
		html = bytes.ReplaceAll(html, []byte("2000-01-02"), []byte("2026-11-22"))
		cancel()
		<-ended
	})
	return html, pages
}

// small is a community of eight relays and a dozen repositories.
type small struct{ begun time.Time }

// A peer of the small community: when it was away within the day, in hours, and how busy it is.
type peerOf struct {
	url      string
	phase    string
	from, to float64
	busy     int
	coverage float64
	gaps     uint64
}

var peers = []peerOf{
	{"wss://relay.commons.example", "live", 0, 0, 40, 0.998, 0},
	{"wss://code.harbor.example", "live", 0, 0, 22, 1, 0},
	{"wss://git.lighthouse.example", "live", 7.5, 9, 12, 0.964, 0},
	{"wss://nostr.meadow.example", "live", 0, 0, 6, 0.871, 3},
	{"wss://patches.orchard.example", "syncing", 23.4, 23.9, 9, 0.99, 0},
	{"wss://relay.tundra.example", "waiting", 21, 24.1, 4, 0.92, 0},
	{"wss://hub.quarry.example", "live", 14, 14.4, 15, 0.985, 0},
	{"wss://old.canyon.example", "dead", 0, 24.1, 0, 0, 0},
}

func (s *small) Relays(context.Context) (out []status.Relay) {
	hours := time.Since(s.begun).Hours()
	for i, p := range peers {
		away := hours >= p.from && hours < p.to
		quarter := int(hours * 12) // five minutes, of which some are busier
		live := uint64(0)
		for q := range quarter {
			if h := float64(q) / 12; (h < p.from || h >= p.to) && (q*q*7+i*13+q)%97 < p.busy {
				live += uint64(1 + (q*31+i)%9*(q%7)*p.busy/20)
			}
		}
		r := status.Relay{URL: grasp.RelayURL(p.url),
			Phase: p.phase, Health: status.Healthy, Connected: !away, Bootstrap: i == 0, Want: status.Count{Repositories: 12 - i, Roots: 640 - 70*i},
			Uptime:   new(max(0, hours-(p.to-p.from)) / max(hours, p.to-p.from)),
			Counters: status.Counters{Sources: status.Sources{Live: live, Catchup: uint64(400 * p.busy)}, Gaps: p.gaps}, LiveREQs: 3, Negentropy: "works",
		}
		r.Confirmed = r.Want
		if p.coverage > 0 {
			r.Coverage = &p.coverage
		}
		switch p.phase {
		case "syncing":
			r.Confirmed.Roots -= 131
		case "waiting":
			r.Health, r.Failures, r.NextAttempt = status.Degraded, 7, in(11*time.Minute)
		case "dead":
			r.Phase, r.Health, r.Failures, r.NextAttempt, r.Confirmed = "waiting", status.Dead, 58, in(19*time.Hour), status.Count{}
		}
		out = append(out, r)
	}
	return out
}

func (*small) Ready(context.Context) (bool, []grasp.RelayURL) { return true, nil }
func (*small) Retry(context.Context, grasp.RelayURL) error    { return nil }

func (*small) Details(context.Context) map[grasp.RelayURL]status.Details {
	names := []string{"atlas", "beacon", "compiler-notes", "dotfiles", "ember", "forge", "glossary", "harvest", "inkwell", "jigsaw", "kestrel", "lantern"}
	out := map[grasp.RelayURL]status.Details{}
	for i, p := range peers {
		var d status.Details
		for j, name := range names {
			if (i+j)%3 != 0 && j != i {
				continue
			}
			part := status.Part{Address: fmt.Sprintf("30617:%016x%048x:%s", uint64(j+1)*0x9e3779b97f4a7c15, j, name), Roots: 12 + 37*j%90, Here: 400}
			switch part.Confirmed = 1 + part.Roots; {
			case p.phase == "dead":
				part.Confirmed, part.Here = 0, 0
			case p.phase == "syncing":
				part.Confirmed /= 2
			case p.coverage < 0.9:
				part.Lacks = uint64(9 + j)
			}
			d.Parts = append(d.Parts, part)
		}
		for k := range p.gaps {
			d.Gaps = append(d.Gaps, status.Gap{Found: time.Now().Add(-time.Duration(k+1) * 47 * time.Minute), By: "catchup", ID: [32]byte{byte(0xa3 + 29*k), 0x5e, byte(k), 0x71}, Kind: 1111, Created: time.Now().Add(-2 * time.Hour)})
		}
		out[grasp.RelayURL(p.url)] = d
	}
	return out
}

type smallStore struct{ shelf }

func (smallStore) Stats() store.Stats {
	return store.Stats{Events: 18_342, Repositories: 12, Head: 18_611, DiskBytes: 27 << 20}
}

type smallDoor struct{}

func (smallDoor) Stats() (s ingest.Stats) {
	s.Refused[policy.Unrelated][0], s.Refused[policy.Superseded][1], s.Refused[policy.Refuse][0] = 214, 63, 17
	return s
}

func (smallDoor) LastRefused() []status.Refused { return nil }
