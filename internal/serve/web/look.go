package web

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"strconv"
	"strings"
)

// Look has the colours that the operator has chosen for links and plots on public pages, one for light pages and one for dark ones. The
// zero value has graspd's own. See ParseLook.
type Look struct{ light, dark string } // #rrggbb; both or none

// Contrast is the least contrast between a colour and its ground with which most people can read it (WCAG 2, level AA).
const Contrast = 4.5

// The grounds of accents, in the order of style.css: pages, cards and code.
var (
	lightGrounds = []string{"#f7f7f4", "#ffffff", "#f1eef6"}
	darkGrounds  = []string{"#15171b", "#1d2026", "#262130"}
)

// The accents in style.css, light and dark, and the text before them there.
const (
	ownLight, ownDark = "#6b3fa0", "#bd9cea"
	accent            = "--accent: "
)

// ParseLook reads the two colours, as #rgb or #rrggbb. With both empty the look is graspd's own; an empty light is graspd's own light
// accent; an empty dark is made from light. A colour with too little contrast is an error that names the nearest with enough.
func ParseLook(light, dark string) (Look, error) {
	if light == "" && dark == "" {
		return Look{}, nil
	}
	if light == "" {
		light = ownLight
	}
	l, err := parseColor(light)
	if err != nil {
		return Look{}, err
	}
	if fit := l.towards(color{}, lightGrounds); fit != l {
		return Look{}, fmt.Errorf("%s cannot be read on light pages: its contrast is %.1f where %.1f is needed; %s would do", light, l.least(lightGrounds), Contrast, fit)
	}
	if dark == "" {
		return Look{l.String(), l.towards(color{255, 255, 255}, darkGrounds).String()}, nil
	}
	d, err := parseColor(dark)
	if err != nil {
		return Look{}, err
	}
	if fit := d.towards(color{255, 255, 255}, darkGrounds); fit != d {
		return Look{}, fmt.Errorf("%s cannot be read on dark pages: its contrast is %.1f where %.1f is needed; %s would do", dark, d.least(darkGrounds), Contrast, fit)
	}
	return Look{l.String(), d.String()}, nil
}

// Style returns the content of the style element of every page.
func (l Look) Style() template.CSS {
	if l == (Look{}) {
		return template.CSS(style)
	}
	return template.CSS(strings.NewReplacer(accent+ownLight, accent+l.light, accent+ownDark, accent+l.dark).Replace(style))
}

// Icon returns the icon of a service whose operator has none of their own.
func (l Look) Icon() template.URL {
	if l == (Look{}) {
		return icon
	}
	return template.URL(strings.ReplaceAll(string(icon), "%23"+ownLight[1:], "%23"+l.light[1:]))
}

// policy returns the Content-Security-Policy of pages: they may have their style, forms that lead to this service and images within the
// page, and nothing else.
func (l Look) policy() string {
	if l == (Look{}) {
		return ownPolicy
	}
	return policyOf(string(l.Style()))
}

func policyOf(style string) string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; img-src data:"
}

var ownPolicy = policyOf(style)

// Answer sends a document with this look, which may load the images from other servers, or from this one (Self). A Cache-Control that w has stays. It does not send the body again to a client that has
// it already (If-None-Match).
func (l Look) Answer(w http.ResponseWriter, req *http.Request, status int, contentType string, body []byte, images ...string) {
	send(w, req, status, contentType, body, l.policy()+origins(images))
}

// color is red, green and blue of sRGB.
type color [3]uint8

func parseColor(s string) (c color, err error) {
	hex, marked := strings.CutPrefix(s, "#")
	if len(hex) == 3 {
		hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
	}
	n, err := strconv.ParseUint(hex, 16, 24)
	if !marked || len(hex) != 6 || err != nil {
		return c, fmt.Errorf("%q is no colour: want #rgb or #rrggbb, such as %s", s, ownLight)
	}
	return color{uint8(n >> 16), uint8(n >> 8), uint8(n)}, nil
}

func (c color) String() string { return fmt.Sprintf("#%02x%02x%02x", c[0], c[1], c[2]) }

// luminance returns the relative luminance (WCAG 2), 0 to 1.
func (c color) luminance() float64 {
	var linear [3]float64
	for i, v := range c {
		if x := float64(v) / 255; x <= 0.04045 {
			linear[i] = x / 12.92
		} else {
			linear[i] = math.Pow((x+0.055)/1.055, 2.4)
		}
	}
	return 0.2126*linear[0] + 0.7152*linear[1] + 0.0722*linear[2]
}

// contrast returns the contrast between two colours (WCAG 2), 1 to 21.
func contrast(a, b color) float64 {
	x, y := a.luminance(), b.luminance()
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// least returns the lowest contrast of the colour to any of the grounds.
func (c color) least(grounds []string) float64 {
	least := 21.0
	for _, g := range grounds {
		ground, err := parseColor(g)
		if err != nil {
			panic(err) // the grounds are constants above
		}
		least = min(least, contrast(c, ground))
	}
	return least
}

// towards returns the nearest colour on the way to end that has enough contrast on all grounds; c itself where it has.
func (c color) towards(end color, grounds []string) color {
	const steps = 256
	for i := range steps {
		var x color
		for j := range x {
			x[j] = uint8((int(c[j])*(steps-i) + int(end[j])*i) / steps)
		}
		if x.least(grounds) >= Contrast {
			return x
		}
	}
	return end
}
