package node

// Archive says how a node keeps repositories whose announcements do not list this service (GRASP-05).
type Archive struct {
	ReadOnly bool // the node refuses pushes to them
}

// curation returns what the information document says of the archive (GRASP-01). It does not tell which repositories are archived.
func (a *Archive) curation() string {
	text := "Beside repositories whose announcements name this service it archives others that its operator has chosen (GRASP-05)"
	if a.ReadOnly {
		return text + ", and takes no pushes to those."
	}
	return text + "."
}
