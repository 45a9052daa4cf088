package fold

import (
	"reflect"
	"slices"
	"testing"
)

// Each value of a call's row is part of its report, also values that random histories don't set. Nullable values
// change from null to zero, and then to another value.
func TestSameReport_ComparesEveryField(t *testing.T) {
	s := new(State)
	for _, field := range reflect.VisibleFields(reflect.TypeFor[CallLog]()) {
		if !field.Anonymous && !slices.Contains([]string{"Version", "UpdatedAt"}, field.Name) {
			checkReported(t, s, field.Index, field.Name)
		}
	}
}

// checkReported changes a field of an empty row or, if it is a struct, its fields.
func checkReported(t *testing.T, s *State, index []int, name string) {
	t.Helper()
	var row, changed CallLog
	value := reflect.ValueOf(&changed).Elem().FieldByIndex(index)
	if value.Kind() == reflect.Struct && !value.FieldByName("Valid").IsValid() {
		for i := range value.NumField() {
			checkReported(t, s, append(slices.Clone(index), i), name+"."+value.Type().Field(i).Name)
		}
		return
	}
	if value.Kind() == reflect.Struct {
		value.FieldByName("Valid").SetBool(true)
		if s.sameReport(row, changed) {
			t.Errorf("%s is not null: the report is the same, want another", name)
		}
		row, value = changed, value.FieldByName("Value")
	}
	switch value.Kind() {
	case reflect.String:
		value.SetString("x")
	case reflect.Int64:
		value.SetInt(1)
	case reflect.Float64:
		value.SetFloat(1)
	case reflect.Bool:
		value.SetBool(true)
	case reflect.Array:
		value.Index(0).SetUint(1)
	default:
		t.Fatalf("%s is a %s, which this test does not change", name, value.Kind())
	}
	if s.sameReport(row, changed) {
		t.Errorf("%s has another value: the report is the same, want another", name)
	}
}
