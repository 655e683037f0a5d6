package nip11_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/graspd/graspd/internal/protocol/nip11"
)

func TestParse(t *testing.T) {
	tests := []struct {
		name string
		in   string
		want nip11.Document
	}{
		{"empty object", `{}`, nip11.Document{}},
		{"plain", `{"name":"a","supported_nips":[1,11,77],"self":"ab","limitation":{"max_subscriptions":20,"restricted_writes":true}}`,
			nip11.Document{Name: "a", SupportedNIPs: []int{1, 11, 77}, Self: "ab",
				Limitation: nip11.Limitation{MaxSubscriptions: 20, RestrictedWrites: true}}},
		{"byte order mark", "\xef\xbb\xbf" + `{"name":"a"}`, nip11.Document{Name: "a"}},
		{"numbers as strings", `{"limitation":{"max_limit":"500","max_message_length":" 65536 ","default_limit":"12.9"}}`,
			nip11.Document{Limitation: nip11.Limitation{MaxLimit: 500, MaxMessageLength: 65536, DefaultLimit: 12}}},
		{"numbers as floats", `{"limitation":{"max_limit":500.0,"max_message_length":1.31072e5}}`,
			nip11.Document{Limitation: nip11.Limitation{MaxLimit: 500, MaxMessageLength: 131072}}},
		{"numbers out of range", `{"limitation":{"max_limit":-1,"max_subscriptions":1e999,"max_event_tags":99999999999999999999,"created_at_lower_limit":94608000000}}`,
			nip11.Document{Limitation: nip11.Limitation{MaxSubscriptions: 1<<31 - 1, MaxEventTags: 1<<31 - 1, CreatedAtLowerLimit: 94608000000}}},
		{"spans before now", `{"limitation":{"created_at_lower_limit":-5,"created_at_upper_limit":"-5"}}`, nip11.Document{}},
		{"numbers that are none", `{"negentropy":"yes","limitation":{"max_limit":null,"max_subscriptions":[5],"max_event_tags":"","max_subid_length":"1.2.3","max_filters":"0x10","default_limit":"inf","max_content_length":"nan"}}`,
			nip11.Document{}},
		{"strings in supported_nips", `{"supported_nips":["77","NIP-11",1.0,"nip 42",1,"EE",null,{},-3,0,70000,"5A"]}`,
			nip11.Document{SupportedNIPs: []int{1, 11, 42, 77}}},
		{"supported_nips is no list", `{"supported_nips":"1,2"}`, nip11.Document{}},
		{"booleans in other clothes", `{"limitation":{"auth_required":"true","payment_required":1,"restricted_writes":"no"}}`,
			nip11.Document{Limitation: nip11.Limitation{AuthRequired: true, PaymentRequired: true}}},
		{"wrong types spoil nothing else", `{"name":5,"description":["x"],"contact":{"a":1},"limitation":[1,2],"version":"v1"}`,
			nip11.Document{Version: "v1"}},
		{"limitation null", `{"limitation":null,"icon":"i"}`, nip11.Document{Icon: "i"}},
		{"unknown and former fields", `{"retention":[{"kinds":[0]}],"fees":{"admission":[]},"relay_countries":["*"],"banner":"b"}`,
			nip11.Document{Banner: "b"}},
		{"grasp", `{"supported_grasps":["GRASP-01",2,"","GRASP-02"],"repo_acceptance_criteria":"any","curation":"c","negentropy":1}`,
			nip11.Document{SupportedGRASPs: []string{"GRASP-01", "GRASP-02"}, RepoAcceptanceCriteria: "any", Curation: "c", Negentropy: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := nip11.Parse([]byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for name, in := range map[string]string{
		"nothing":      "",
		"html":         "<!DOCTYPE html><html>relay</html>",
		"list":         `[{"name":"a"}]`,
		"text":         `"name"`,
		"null":         "null",
		"trailing":     `{"name":"a"} x`,
		"cut":          `{"name":"a"`,
		"deep nesting": `{"a":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + "}",
	} {
		t.Run(name, func(t *testing.T) {
			if d, err := nip11.Parse([]byte(in)); err == nil {
				t.Errorf("parsed %+v", d)
			}
		})
	}
}

func TestParseIsBounded(t *testing.T) {
	long := strings.Repeat("é", 60_000)
	d, err := nip11.Parse([]byte(`{"name":"x` + long + `"}`))
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Name) > 1024 || len(d.Name) < 1000 || !utf8.ValidString(d.Name) {
		t.Errorf("kept %d bytes of a long name, valid %v", len(d.Name), utf8.ValidString(d.Name))
	}
	d, err = nip11.Parse([]byte(`{"supported_nips":[` + strings.Repeat("0,", 256) + `5]}`))
	if err != nil || d.SupportedNIPs != nil {
		t.Errorf("read past 256 entries: %v, %v", d.SupportedNIPs, err)
	}
	doc := `{"name":"a"}`
	if _, err := nip11.Parse([]byte(doc + strings.Repeat(" ", nip11.MaxSize-len(doc)))); err != nil {
		t.Errorf("a document of exactly MaxSize: %v", err)
	}
	if _, err := nip11.Parse([]byte(doc + strings.Repeat(" ", nip11.MaxSize-len(doc)+1))); !errors.Is(err, nip11.ErrTooLarge) {
		t.Errorf("a document over MaxSize: %v", err)
	}
}

func TestParseKeepsNothingOfTheBuffer(t *testing.T) {
	buf := []byte(`{"name":"first","supported_grasps":["GRASP-01"]}`)
	d, err := nip11.Parse(buf)
	if err != nil {
		t.Fatal(err)
	}
	for i := range buf {
		buf[i] = 'x'
	}
	if d.Name != "first" || d.SupportedGRASPs[0] != "GRASP-01" {
		t.Errorf("changed with the buffer: %+v", d)
	}
}

// full has every field set, so that a field that is written under another name than it is read under shows.
func full(t *testing.T) nip11.Document {
	t.Helper()
	var d nip11.Document
	fill(t, reflect.ValueOf(&d).Elem())
	return d
}

func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	for i := range v.NumField() {
		f, name := v.Field(i), v.Type().Field(i).Name
		switch f.Kind() {
		case reflect.String:
			f.SetString("text of " + name)
		case reflect.Int, reflect.Int64:
			f.SetInt(int64(100 + i))
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Slice:
			if f.Type().Elem().Kind() == reflect.Int {
				f.Set(reflect.ValueOf([]int{1, 9, 77}))
			} else {
				f.Set(reflect.ValueOf([]string{"GRASP-01"}))
			}
		case reflect.Struct:
			fill(t, f)
		default:
			t.Fatalf("field %s: kind %s is not filled", name, f.Kind())
		}
	}
}

func TestRoundTrip(t *testing.T) {
	for name, want := range map[string]nip11.Document{"full": full(t), "empty": {}} {
		t.Run(name, func(t *testing.T) {
			b, err := want.JSON()
			if err != nil {
				t.Fatal(err)
			}
			got, err := nip11.Parse(b)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("wrote %s\ngot  %+v\nwant %+v", b, got, want)
			}
		})
	}
}

func TestJSONNames(t *testing.T) {
	b, err := full(t).JSON()
	if err != nil {
		t.Fatal(err)
	}
	var o map[string]any
	if err := json.Unmarshal(b, &o); err != nil {
		t.Fatal(err)
	}
	lim, _ := o["limitation"].(map[string]any)
	for _, name := range strings.Fields("name description banner icon pubkey self contact supported_nips supported_grasps repo_acceptance_criteria curation software version terms_of_service posting_policy negentropy") {
		if _, ok := o[name]; !ok {
			t.Errorf("no %s in %s", name, b)
		}
	}
	for _, name := range strings.Fields("max_message_length max_subscriptions max_limit max_subid_length max_event_tags max_content_length min_pow_difficulty auth_required payment_required restricted_writes created_at_lower_limit created_at_upper_limit default_limit") {
		if _, ok := lim[name]; !ok {
			t.Errorf("no limitation.%s in %s", name, b)
		}
	}
	if b, _ := (nip11.Document{Name: "a"}).JSON(); strings.Contains(string(b), "curation") {
		t.Errorf("an uncurated relay must have no curation key: %s", b)
	}
}

func TestSupports(t *testing.T) {
	d := nip11.Document{SupportedNIPs: []int{1, 77}}
	if !d.Supports(77) || d.Supports(42) {
		t.Errorf("Supports(77) = %v, Supports(42) = %v", d.Supports(77), d.Supports(42))
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"name":"a","supported_nips":["77",1.0],"limitation":{"max_limit":"5","auth_required":"true"}}`))
	f.Add([]byte(`{"supported_grasps":["GRASP-01"],"limitation":null,"negentropy":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := nip11.Parse(b)
		if err != nil {
			return
		}
		out, err := d.JSON()
		if err != nil {
			t.Fatal(err)
		}
		again, err := nip11.Parse(out)
		if err != nil || !reflect.DeepEqual(d, again) {
			t.Errorf("%+v\nbecame %+v, %v", d, again, err)
		}
	})
}
