package admin

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/operate/nip86"
	"github.com/graspd/graspd/internal/status"
)

// Status is the document /status.json. Times are RFC 3339 in UTC, ratios 0 to 1; what graspd does not know is null.
type Status struct {
	Relay   Self          `json:"relay"`
	Store   StoreStatus   `json:"store"`
	Clients *ClientStatus `json:"clients,omitempty"` // nil where nobody counts them
	Sync    SyncStatus    `json:"sync"`
	Git     *status.Git   `json:"git,omitempty"`      // nil where no repositories are hosted
	GitDisk *DiskStatus   `json:"git_disk,omitempty"` // nil where the git data is on the disk of the store

	Cluster *status.Cluster `json:"cluster,omitempty"` // nil where this relay shares its bucket with no other node

	Backups *status.Backups `json:"backups,omitempty"` // nil where this relay makes none by itself
	Bucket  *status.Bucket  `json:"bucket,omitempty"`  // nil where this relay has none
	Reports *ReportQueue    `json:"reports,omitempty"` // nil where the relay keeps none

	Nothing *status.Nothing `json:"nothing_carried,omitempty"` // nil while a repository is kept

	Readiness *status.Readiness `json:"readiness,omitempty"` // nil where this relay fills itself from no other

	Changed []nip86.Change `json:"changed,omitempty"` // settings that were changed over the public address
}

// Self says which relay this is.
type Self struct {
	URL     string `json:"url"`
	Version string `json:"version"`
}

// StoreStatus says what is stored: events, announcements among them, the number of the last entry of the log, and bytes on the disk.
type StoreStatus struct {
	Events       int64        `json:"events"`
	Repositories int64        `json:"repositories"`
	Head         uint64       `json:"head"`
	Bytes        status.Bytes `json:"bytes"`
	Disk         *DiskStatus  `json:"disk"` // nil where graspd cannot look at it
}

// DiskStatus is what a file system has left. Below one of the floors graspd stores nothing.
type DiskStatus struct {
	FreeBytes   status.Bytes `json:"free_bytes"`
	FloorBytes  status.Bytes `json:"floor_bytes"`
	FreeInodes  *uint64      `json:"free_inodes"` // null on a file system that makes inodes as it needs them
	FloorInodes *uint64      `json:"floor_inodes"`
}

// disk returns what the file system of the store has left.
func (c Config) disk() *DiskStatus {
	d, err := c.Store.Disk()
	if err != nil {
		return nil
	}
	return diskStatus(d)
}

func diskStatus(d store.Disk) *DiskStatus {
	s := &DiskStatus{FreeBytes: status.Bytes(d.Free), FloorBytes: status.Bytes(d.Floor)}
	if d.Inodes.All > 0 {
		s.FreeInodes, s.FloorInodes = new(d.Inodes.Free), new(d.InodeFloor)
	}
	return s
}

// String returns a line for people.
func (d *DiskStatus) String() string {
	text := d.FreeBytes.String() + " free on the disk"
	if d.FreeInodes != nil {
		text += ", " + strconv.FormatUint(*d.FreeInodes, 10) + " inodes"
	}
	return text
}

// ClientStatus counts who is connected to this relay.
type ClientStatus struct {
	Connections   int `json:"connections"`
	Subscriptions int `json:"subscriptions"`
}

// SyncStatus says how the engine stands with the relays that hold a slot: how many there are, and those that the request asks for.
type SyncStatus struct {
	Tracked   int            `json:"tracked"` // relays that hold a slot
	Connected int            `json:"connected"`
	Dead      int            `json:"dead"`
	Matching  int            `json:"matching"` // relays that fit the search; Relays has a part of these where the request wants only a part
	Relays    []status.Relay `json:"relays"`
}

// tell returns the document as of now, with these relays.
func (c Config) tell(relays []status.Relay) Status {
	st := c.Store.Stats()
	s := Status{
		Relay: Self{URL: string(c.URL), Version: c.Version},
		Store: StoreStatus{Events: st.Events, Repositories: st.Repositories, Head: uint64(st.Head), Bytes: status.Bytes(st.DiskBytes), Disk: c.disk()},
		Sync:  SyncStatus{Relays: append([]status.Relay{}, relays...), Matching: len(relays)},
	}
	s.Sync.Tracked, s.Sync.Connected, s.Sync.Dead = status.Tally(relays)
	if c.Relay != nil {
		of := c.Relay.Stats()
		s.Clients = &ClientStatus{Connections: of.Sessions, Subscriptions: of.Subscriptions}
	}
	if c.Node != nil {
		s.Changed = c.Node.Changes()
		if n := c.Node.Nothing(); n != nil {
			told := *n
			told.Full = c.unstored()
			s.Nothing = &told
		}
		s.Readiness = c.Node.Filled()
	}
	if c.Cluster != nil {
		s.Cluster = new(c.Cluster.Standing())
	}
	if c.Backups != nil {
		s.Backups = new(c.Backups.Status())
	}
	if c.Bucket != nil {
		s.Bucket = new(c.Bucket.Status())
	}
	s.Reports = c.queue(mostReportedTold)
	if c.Git != nil {
		s.Git = c.Git.Status()
		if d := c.Git.Disk(); d != nil {
			s.GitDisk = diskStatus(*d)
		}
	}
	return s
}

// status answers with the document as of now. The parameters q and state choose among the relays, order=worst puts those first that need a look,
// and most and page say how many and which part.
func (p *Pages) status(w http.ResponseWriter, r *http.Request) {
	ask, err := parseAsk(r, relaysPage, mostRelays)
	if err != nil {
		answer(w, http.StatusBadRequest, err.Error())
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), patience)
	defer cancel()
	var relays []status.Relay
	if p.c.Sync != nil {
		p.rendering.Lock()
		relays = p.relays(ctx)
		p.rendering.Unlock()
	}
	s := p.c.tell(relays)
	if r.FormValue("order") == "worst" {
		worst(s.Sync.Relays)
	}
	chosen := chooseRelays(s.Sync.Relays, ask.pageRef)
	s.Sync.Matching = len(chosen)
	s.Sync.Relays = append([]status.Relay{}, of(ask, chosen)...)
	answerJSON(w, s)
}

// ask says which part of a list a program wants.
type ask struct {
	pageRef
	most int
}

// mostRelays is how many relays a program may ask for at once; by itself it gets all that hold a slot.
const mostRelays = 100_000

func parseAsk(r *http.Request, path string, most int) (ask, error) {
	w, err := parsePageRef(path, r.URL.Query())
	if s := r.FormValue("most"); err == nil && s != "" {
		n, bad := strconv.Atoi(s)
		if bad != nil || n < 1 || n > most {
			return ask{}, fmt.Errorf("most: want a number from 1 to %d", most)
		}
		most = n
	}
	return ask{w, most}, err
}

// of returns the part of a list that the program wants.
func of[T any](a ask, list []T) []T {
	from := len(list)
	if a.Page-1 <= len(list)/a.most { // without this a large page number would overflow
		from = min(from, (a.Page-1)*a.most)
	}
	return list[from:min(len(list), from+a.most)]
}

// sorted asks the engine and puts its relays in order.
func (c Config) sorted(ctx context.Context) []status.Relay {
	relays := slices.Clone(c.Sync.Relays(ctx))
	slices.SortFunc(relays, func(a, b status.Relay) int { return cmp.Compare(a.URL, b.URL) })
	return relays
}
