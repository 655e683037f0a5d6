package nip11

import "slices"

// Supports reports whether the document lists the NIP. It is a claim, not a proof: some relays list what they refuse.
func (d Document) Supports(nip int) bool { return slices.Contains(d.SupportedNIPs, nip) }
