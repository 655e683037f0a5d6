package web

// Grounds are what accents stand on, by their names in the style: light pages, and dark ones.
func Grounds() (out [2]map[string]string) {
	for i, colours := range [][]string{lightGrounds, darkGrounds} {
		out[i] = map[string]string{"--bg": colours[0], "--card": colours[1], "--code": colours[2]}
	}
	return out
}
