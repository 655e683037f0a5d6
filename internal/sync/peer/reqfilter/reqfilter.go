// Package reqfilter makes filters of items: what a relay is asked about repositories and root events, how many values one filter carries,
// and how long a REQ gets. It knows no connection: Wants and numbers go in, filters come out.
package reqfilter

import "github.com/graspd/graspd/internal/sync/want"

// MaxValues is the most values that one filter list carries by default.
const MaxValues = 100

// Bounds is how much one filter carries.
type Bounds struct {
	Values int // in its list
	Bytes  int // of its list; 0 = no bound
}

// Weight is how many values an item adds to the filters of its layer.
func Weight(w *want.Want, it want.Item) int {
	if r := w.Repository(it); r != nil {
		return len(r.Addresses)
	}
	return 1
}
