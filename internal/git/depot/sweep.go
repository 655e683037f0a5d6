package depot

import (
	"context"
	"strings"

	"github.com/graspd/graspd/internal/base/objects"
	"github.com/graspd/graspd/internal/events/refdb"
)

// List returns the beginnings of the names of objects of packs that come after a name, each once, and where to go on from; after is "" at the end.
func (d *Depot) List(ctx context.Context, from string) (names []string, after string, err error) {
	page, err := d.c.Objects.List(ctx, refdb.ObjectPrefix, from, objects.MaxList)
	for _, x := range page {
		name, _, _ := strings.Cut(x.Name, ".")
		if len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
		after = x.Name
	}
	if len(page) < objects.MaxList {
		after = ""
	}
	return names, after, err
}

// Remove removes the objects whose names begin so.
func (d *Depot) Remove(ctx context.Context, object string) error {
	for _, suffix := range refdb.Suffixes {
		if err := d.c.Objects.Delete(ctx, object+suffix); err != nil {
			return err
		}
	}
	return nil
}
