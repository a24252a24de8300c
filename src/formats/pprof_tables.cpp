#include "formats/pprof_tables.h"

namespace tephra::formats::pprof {
namespace {

ValueType read_value_type(Message<ValueTypeField> message) {
  ValueType type;
  while (message.next()) {
    switch (message.tag()) {
      case ValueTypeField::kType:
        type.type = number(message);
        break;
      case ValueTypeField::kUnit:
        type.unit = number(message);
        break;
      default:
        message.skip();
    }
  }
  return type;
}

void read_mapping(Message<MappingField> message, Numbered<Tables::Mapping>& mappings) {
  Tables::Mapping row;
  uint64_t id = 0;
  while (message.next()) {
    switch (message.tag()) {
      case MappingField::kId:
        id = number(message);
        break;
      case MappingField::kStart:
        row.start = number(message);
        break;
      case MappingField::kLimit:
        row.limit = number(message);
        break;
      case MappingField::kOffset:
        row.offset = number(message);
        break;
      case MappingField::kFile:
        row.file = number(message);
        break;
      case MappingField::kBuildId:
        row.build_id = number(message);
        break;
      default:
        message.skip();
    }
  }
  mappings.add(id, row);
}

void read_function(Message<FunctionField> message, Numbered<Tables::Function>& functions) {
  Tables::Function row;
  uint64_t id = 0;
  while (message.next()) {
    switch (message.tag()) {
      case FunctionField::kId:
        id = number(message);
        break;
      case FunctionField::kName:
        row.name = number(message);
        break;
      case FunctionField::kSystemName:
        row.system_name = number(message);
        break;
      case FunctionField::kFile:
        row.file = number(message);
        break;
      case FunctionField::kStartLine:
        row.start_line = number(message);
        break;
      default:
        message.skip();
    }
  }
  functions.add(id, row);
}

Tables::Line read_line(Message<LineField> message) {
  Tables::Line line;
  while (message.next()) {
    switch (message.tag()) {
      case LineField::kFunction:
        line.function = number(message);
        break;
      case LineField::kLine:
        line.line = number(message);
        break;
      default:
        message.skip();
    }
  }
  return line;
}

Tables::Location read_location(Message<LocationField> message) {
  Tables::Location row;
  while (message.next()) {
    switch (message.tag()) {
      case LocationField::kId:
        row.id = number(message);
        break;
      case LocationField::kMapping:
        row.mapping = number(message);
        break;
      case LocationField::kAddress:
        row.address = number(message);
        break;
      case LocationField::kLine:
        row.lines.push_back(read_line(part(message)));
        break;
      default:
        message.skip();
    }
  }
  return row;
}

}  // namespace

Tables read_tables(base::Bytes bytes) {
  Tables tables;
  Message<ProfileField> message(view_of(bytes));
  while (message.next()) {
    switch (message.tag()) {
      case ProfileField::kSampleType:
        tables.types.push_back(read_value_type(part(message)));
        break;
      case ProfileField::kSample:
        tables.samples.push_back(part(message));
        break;
      case ProfileField::kMapping:
        read_mapping(part(message), tables.mappings);
        break;
      case ProfileField::kLocation:
        tables.locations.push_back(read_location(part(message)));
        break;
      case ProfileField::kFunction:
        read_function(part(message), tables.functions);
        break;
      case ProfileField::kString:
        tables.texts.push_back(text_of(part(message)));
        break;
      case ProfileField::kDropFrames:
        tables.drop_frames = number(message);
        break;
      case ProfileField::kKeepFrames:
        tables.keep_frames = number(message);
        break;
      case ProfileField::kTime:
        tables.time = static_cast<int64_t>(number(message));
        break;
      case ProfileField::kDuration:
        tables.duration = static_cast<int64_t>(number(message));
        break;
      case ProfileField::kPeriodType:
        tables.period_type = read_value_type(part(message));
        break;
      case ProfileField::kPeriod:
        tables.period = static_cast<int64_t>(number(message));
        break;
      case ProfileField::kComment:
        read_numbers(message, [&](uint64_t number) { tables.comments.push_back(number); });
        break;
      case ProfileField::kDefaultType:
        tables.default_type = number(message);
        break;
      default:
        message.skip();
    }
  }
  return tables;
}

}  // namespace tephra::formats::pprof
