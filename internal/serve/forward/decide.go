package forward

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// offer is an event for the node that leads.
type offer struct {
	Label  string          `json:"label"` // of the client
	Party  string          `json:"party"`
	Bearer policy.Bearer   `json:"bearer"`
	Event  json.RawMessage `json:"event"`
}

// decisions are what became of offers, in their order.
type decisions struct {
	Position uint64     `json:"position"` // up to there the commit log has what was stored
	Verdicts []decision `json:"verdicts"`
}

type decision struct {
	Outcome policy.Outcome `json:"outcome"`
	Reason  string         `json:"reason"`
	Steps   int            `json:"steps"` // of work, for which the client pays
}

// decide answers a batch of another node. Each client has a queue of its own at the door. What fails where the node ceases to lead, the next one decides.
func (l *Leader) decide(a *Answers, w http.ResponseWriter, r *http.Request) {
	var offers []offer
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 4*batchBytes)).Decode(&offers); err != nil || len(offers) > batchEvents {
		http.Error(w, fmt.Sprintf("%d events: %v", len(offers), err), http.StatusBadRequest)
		return
	}
	d := decisions{Verdicts: make([]decision, len(offers))}
	clients := map[[2]string][]int{}
	for i, o := range offers {
		key := [2]string{o.Party, o.Label}
		clients[key] = append(clients[key], i)
	}
	var all errgroup.Group
	for key, mine := range clients {
		all.Go(func() error { return a.decideOf(r.Context(), key[0], key[1], offers, mine, d.Verdicts) })
	}
	err := all.Wait()
	if err == nil && !l.leads(a) && slices.ContainsFunc(d.Verdicts, func(v decision) bool { return v.Outcome == policy.Failed }) {
		err = errMoved
	}
	if err != nil {
		NotYet(w, err.Error())
		return
	}
	d.Position = a.Log.LogPlace().Position
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(d) // the node asks again
}

// decideOf has those events decided that one client brings.
func (a *Answers) decideOf(ctx context.Context, party, label string, offers []offer, mine []int, verdicts []decision) error {
	var mu sync.Mutex
	by, steps := policy.Stranger, 0
	s := a.Door.Source(ingest.SourceConfig{
		Label: label, Party: party, Direct: true, Bearer: func(*nostr.Event) policy.Bearer { return by },
		Charge: func(n int) { mu.Lock(); defer mu.Unlock(); steps += n },
	})
	defer s.Close()
	var left sync.WaitGroup
	var failed error
	for _, i := range mine {
		e, err := nostr.ParseEvent(offers[i].Event)
		if err != nil {
			verdicts[i] = decision{Outcome: policy.Invalid, Reason: "invalid: " + err.Error()}
			continue
		}
		by = offers[i].Bearer
		left.Add(1)
		err = s.Submit(ctx, e, store.Direct, func(v policy.Verdict) {
			defer left.Done()
			verdicts[i] = decision{Outcome: v.Outcome, Reason: v.Reason}
		})
		if err != nil {
			left.Done()
			failed = cmp.Or(failed, err)
			break
		}
	}
	left.Wait()
	mu.Lock()
	defer mu.Unlock()
	verdicts[mine[0]].Steps = steps
	return failed
}
