package nostr

import "iter"

// Tag is one tag of an event: a name and values. NIP-01 means every tag to have a name, yet an empty tag is valid JSON, so read tags
// through Name and Value.
type Tag []string

// Tags are the tags of an event in their order.
type Tags []Tag

// Name returns the first element, or "".
func (t Tag) Name() string { return t.at(0) }

// Value returns the second element, or "". Relays index no other element.
func (t Tag) Value() string { return t.at(1) }

func (t Tag) at(i int) string {
	if i < len(t) {
		return t[i]
	}
	return ""
}

// First returns the value of the first tag of that name, and whether there is such a tag. For a tag without a value it returns "" and true.
func (t Tags) First(name string) (string, bool) {
	for _, tag := range t {
		if len(tag) > 0 && tag[0] == name {
			return tag.Value(), true
		}
	}
	return "", false
}

// All yields the tags of that name in their order.
func (t Tags) All(name string) iter.Seq[Tag] {
	return func(yield func(Tag) bool) {
		for _, tag := range t {
			if len(tag) > 0 && tag[0] == name && !yield(tag) {
				return
			}
		}
	}
}

// D returns the value of the first d tag, or "", which NIP-01 makes equal to a missing one.
func (t Tags) D() string {
	d, _ := t.First("d")
	return d
}
