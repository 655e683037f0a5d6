package hosting

import (
	"cmp"
	"slices"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/protocol/grasp"
)

// Moved returns up to most repositories with data, the one whose refs changed last first, without their refs. It reads all rows.
func (r *Reader) Moved(most int) ([]refdb.Repository, error) {
	var list []refdb.Repository
	v := r.cfg.Store.View()
	defer v.Close()
	err := v.EachRow(refdb.Prefix, "", func(_ string, row []byte) (bool, error) {
		x, err := refdb.Brief(row)
		if err == nil && grasp.IsContributed(x.Of) { // such repositories have no page
			return true, nil
		}
		if err == nil && !x.Dir.IsZero() && x.Gone == 0 {
			list = append(list, x)
		}
		if len(list) >= 2*most {
			list = newest(list, most)
		}
		return true, err
	})
	return newest(list, most), err
}

func newest(list []refdb.Repository, most int) []refdb.Repository {
	slices.SortFunc(list, func(a, b refdb.Repository) int {
		return cmp.Or(cmp.Compare(b.Moved, a.Moved), cmp.Compare(a.Of.String(), b.Of.String()))
	})
	return list[:min(len(list), most)]
}
