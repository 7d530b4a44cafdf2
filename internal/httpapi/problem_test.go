package httpapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"payrollgateway/internal/httpapi/apigen"
)

// TestTheTableOfProblemsIsTheDocuments: codes, statuses and titles.
func TestTheTableOfProblemsIsTheDocuments(t *testing.T) {
	d, err := readDocument()
	if err != nil {
		t.Fatal(err)
	}
	schema := d.spec.Components.Schemas["ProblemCode"].Value
	if len(schema.Enum) != len(problems) {
		t.Errorf("the document has %d codes, the table %d", len(schema.Enum), len(problems))
	}
	for row := range strings.SplitSeq(schema.Description, "\n") {
		cells := strings.Split(row, "|")
		if len(cells) < 4 {
			continue
		}
		status, err := strconv.Atoi(strings.TrimSpace(cells[2]))
		if err != nil {
			continue
		}
		code := apigen.ProblemCode(strings.Trim(cells[1], " `"))
		if k := problems[code]; k.status != status {
			t.Errorf("%s: the document says %d, the table %d", code, status, k.status)
		}
	}
	for code, title := range documentedTitles(d) {
		if k := problems[apigen.ProblemCode(code)]; k.title != title {
			t.Errorf("%s: the document is titled %q, the table %q", code, title, k.title)
		}
	}
}

func documentedTitles(d *document) map[string]any {
	titles := map[string]any{}
	for _, o := range d.operations {
		for _, response := range o.spec.Responses.Map() {
			if problem := response.Value.Content["application/problem+json"]; problem != nil {
				for code, example := range problem.Examples {
					titles[code] = example.Value.Value.(map[string]any)["title"]
				}
			}
		}
	}
	return titles
}

func TestRefusalsListAThousandFaultsAndCountTheRest(t *testing.T) {
	faults := make([]apigen.Fault, 1200)
	r := RefuseFaults(apigen.ProblemCodeInvalidRequest, faults...)
	if len(r.Errors) != 1000 || r.ErrorsTotal != 1200 {
		t.Errorf("%d of %d", len(r.Errors), r.ErrorsTotal)
	}
}

func TestAnUnknownCodeIsInternal(t *testing.T) {
	if r := Refuse("no_such_code"); r.Status != 500 {
		t.Errorf("%+v", r)
	}
}

// problemOf reads a problem from an answer.
func problemOf(t *testing.T, body []byte) apigen.Problem {
	t.Helper()
	var p apigen.Problem
	if err := json.Unmarshal(body, &p); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return p
}

// faultsOf spells the places of a problem's faults.
func faultsOf(p apigen.Problem) []string {
	var places []string
	for _, f := range p.Errors {
		places = append(places, fmt.Sprint(f.Parameter, f.Pointer, ": ", f.Detail))
	}
	slices.Sort(places)
	return places
}
