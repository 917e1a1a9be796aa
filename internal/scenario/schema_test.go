package scenario_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"shedload/internal/scenario"
	"shedload/scenarios"
)

var update = flag.Bool("update", false, "rewrite scenarios/schema.json")

const schemaFile = "../../scenarios/schema.json"

// The schema that editors read from the repository is the one that the types give.
func TestSchemaIsUpToDate(t *testing.T) {
	if *update {
		if err := os.WriteFile(schemaFile, scenario.Schema(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(schemaFile)
	if err != nil || !bytes.Equal(got, scenario.Schema()) {
		t.Errorf("schema.json does not follow from the types (%v): run go test ./internal/scenario -update", err)
	}
}

// The embedded scenarios fit the schema, and a file that does not is told so.
func TestSchemaFitsTheScenarios(t *testing.T) {
	var root map[string]any
	if err := json.Unmarshal(scenario.Schema(), &root); err != nil {
		t.Fatal(err)
	}
	v := validator{root}
	for _, name := range scenarios.List() {
		text, err := scenarios.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if bad := v.check(root, document(t, text), name); len(bad) > 0 {
			t.Errorf("%s", strings.Join(bad, "\n"))
		}
	}
	for _, wrong := range []string{
		"{horizon: 1s, clients: []}", "{name: x, horizon: 1, clients: []}", "{name: x, horizon: 1s, clients: [], sever: {}}",
		"{name: x, horizon: 1s, clients: [{wait: psot}]}", "{name: x, horizon: 1s, clients: [{arrivals: odd}]}", "{name: x, horizon: 1s, clients: 3}",
		"{name: x, horizon: 1s, clients: [], classes: [{criticality: very}]}", "{name: x, horizon: 1s, clients: [], variants: {a: {sever: {}}}}",
	} {
		if bad := v.check(root, document(t, []byte(wrong)), ""); len(bad) == 0 {
			t.Errorf("%s fits the schema", wrong)
		}
	}
}

func document(t *testing.T, text []byte) any {
	t.Helper()
	asJSON, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(asJSON, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// validator knows as much of JSON schema as the schema uses.
type validator struct{ root map[string]any }

func (v validator) check(schema map[string]any, value any, path string) []string {
	if ref, ok := schema["$ref"].(string); ok {
		defs := v.root["$defs"].(map[string]any)
		return v.check(defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any), value, path)
	}
	if anyOf, ok := schema["anyOf"].([]any); ok {
		var all []string
		for _, s := range anyOf {
			bad := v.check(s.(map[string]any), value, path)
			if len(bad) == 0 {
				return nil
			}
			all = append(all, bad...)
		}
		return all
	}
	if enum, ok := schema["enum"].([]any); ok && !slices.Contains(enum, value) {
		return []string{fmt.Sprintf("%s: %v is none of %v", path, value, enum)}
	}
	if !typeFits(schema["type"], value) {
		return []string{fmt.Sprintf("%s: %v is not %v", path, value, schema["type"])}
	}
	if pattern, ok := schema["pattern"].(string); ok && !regexp.MustCompile(pattern).MatchString(value.(string)) {
		return []string{fmt.Sprintf("%s: %v does not match", path, value)}
	}
	return v.inside(schema, value, path)
}

func (v validator) inside(schema map[string]any, value any, path string) []string {
	var bad []string
	switch value := value.(type) {
	case []any:
		for i, item := range value {
			bad = append(bad, v.check(schema["items"].(map[string]any), item, fmt.Sprintf("%s[%d]", path, i))...)
		}
	case map[string]any:
		known, _ := schema["properties"].(map[string]any)
		for key, item := range value {
			s, ok := known[key].(map[string]any)
			if !ok {
				s, ok = schema["additionalProperties"].(map[string]any)
			}
			if !ok {
				bad = append(bad, path+"."+key+": unknown")
				continue
			}
			bad = append(bad, v.check(s, item, path+"."+key)...)
		}
		required, _ := schema["required"].([]any)
		for _, key := range required {
			if _, ok := value[key.(string)]; !ok {
				bad = append(bad, fmt.Sprintf("%s.%s: missing", path, key))
			}
		}
	}
	return bad
}

func typeFits(want, value any) bool {
	if list, ok := want.([]any); ok {
		return slices.ContainsFunc(list, func(w any) bool { return typeFits(w, value) })
	}
	switch v := value.(type) {
	case string:
		return want == nil || want == "string"
	case bool:
		return want == nil || want == "boolean"
	case float64:
		return want == nil || want == "number" || want == "integer" && v == float64(int64(v))
	case []any:
		return want == "array"
	case map[string]any:
		return want == "object"
	}
	return false
}
