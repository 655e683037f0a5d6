package relay_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/graspd/graspd/internal/base/contain"
	"github.com/graspd/graspd/internal/serve/relay"
)

// TestAFaultEndsOneClient: whatever in this program fails over one client, that one alone is sent away. Everybody else goes on,
// the fault is counted, and nothing that the client had taken stays taken.
func TestAFaultEndsOneClient(t *testing.T) {
	auth := fmt.Sprintf(`["AUTH",%s]`, event(3, time.Now().Unix(), 22242, "").AppendJSON(nil))
	for name, c := range map[string]struct {
		spoil func(r *relay.Relay, sub string)
		frame string
		cut   bool // the client hears no reason, as nothing can be sent to it
	}{
		"in the reader":                       {(*relay.Relay).SpoilIdentity, auth, false},
		"in the reader, while it has a turn":  {(*relay.Relay).SpoilStore, `["COUNT","c",{}]`, false},
		"in the writer, before a view":        {(*relay.Relay).SpoilStore, `["REQ","mine too",{}]`, false},
		"in the writer, in a query's results": {(*relay.Relay).SpoilCork, `["REQ","mine too",{}]`, true},
		"in the writer, over an answer":       {(*relay.Relay).SpoilCork, `["NEG-OPEN","n2",{},"61"]`, true},
	} {
		t.Run(name, func(t *testing.T) {
			faults := contain.New(nil, nil)
			inWorldOf(t, relay.Config{Faults: faults}, func(t *testing.T, w *world) {
				w.put(t, announcement())
				w.put(t, several(200, 10)...)
				other := w.dialFrom(t, "203.0.113.1:1")
				defer other.close()
				other.send(t, `["REQ","other",{"limit":0}]`)
				other.expect(t, `["EOSE","other"]`)
				one := w.dialFrom(t, "198.51.100.1:1")
				defer one.close()
				one.send(t, `["NEG-OPEN","n",{},"61"]`)
				one.expect(t, `["NEG-MSG","n","61"]`)
				one.send(t, `["REQ","mine",{"limit":0}]`)
				one.expect(t, `["EOSE","mine"]`)
				synctest.Wait()
				c.spoil(w.relay, "mine")
				one.send(t, c.frame)
				frames, err := one.toItsEnd()
				if c.cut == (websocket.CloseStatus(err) == websocket.StatusInternalError) {
					t.Errorf("%q, then closed by %v", frames, err)
				}
				if !c.cut && !strings.Contains(strings.Join(frames, ""), `["CLOSED","mine","error: internal error"]`) {
					t.Errorf("not told: %q", frames)
				}
				if n, last := faults.Seen(); n == 0 || last.In != "a client" {
					t.Errorf("%d faults, %+v", n, last)
				}
				e := issue(time.Now().Unix(), "to everybody else")
				w.put(t, e)
				other.expect(t, `["EVENT","other",`+string(e.AppendJSON(nil))+`]`)
				synctest.Wait()
				if st := w.relay.Stats(); st.Sessions != 1 || st.Subscriptions != 1 || st.Reconciliations != 0 || w.relay.Indexed() != 1 || w.turns() != 0 {
					t.Errorf("left behind: %+v, %d places in the index, %d turns", st, w.relay.Indexed(), w.turns())
				}
				again := w.dialFrom(t, "198.51.100.1:2")
				defer again.close()
				again.send(t, `["COUNT","c",{}]`)
				again.expect(t, `["COUNT","c",{"count":202}]`)
			})
		})
	}
}

// toItsEnd reads what still comes, and why nothing more does.
func (c *client) toItsEnd() (frames []string, err error) {
	for {
		frame, err := c.next(time.Minute)
		if err != nil {
			return frames, err
		}
		frames = append(frames, frame)
	}
}

// TestAFaultOverOneFilter: one client's filter cannot keep the dispatcher from the others'.
func TestAFaultOverOneFilter(t *testing.T) {
	if told, ended := relay.DispatchWithAFault(5, 2); told != 4 || len(ended) != 1 || ended[0] != 2 {
		t.Errorf("%d sessions were told, %v were ended", told, ended)
	}
}

// TestAFaultThatIsNobodys: nothing may be served by a dispatcher that is at fault itself.
func TestAFaultThatIsNobodys(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("the dispatcher goes on")
		}
	}()
	relay.DispatchWithAFault(5, -1)
}
