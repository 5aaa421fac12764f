#include "proxy/process/handover_message.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "proxy/process/handover_channel.h"

namespace hedge::proxy {
namespace {

using nlohmann::json;

Error not_understood() {
  return Error(ErrorKind::invalid_input, "the running edge hands over what is not understood");
}

json to_json(const config::SocketAddress& address) {
  return {{"ip", address.ip}, {"port", address.port}};
}

std::optional<config::SocketAddress> address_in(const json& value, const char* name) {
  const auto found = value.find(name);
  if (found == value.end() || !found->is_object()) return std::nullopt;
  const auto ip = found->find("ip");
  const auto port = found->find("port");
  if (ip == found->end() || !ip->is_string() || port == found->end() || !port->is_number_unsigned())
    return std::nullopt;
  const auto number = port->get<std::uint64_t>();
  if (number > 65535) return std::nullopt;
  return config::SocketAddress{ip->get<std::string>(), static_cast<std::uint16_t>(number)};
}

Result<HandoverItem> decode_address(const json& value) {
  const auto address = address_in(value, "address");
  const auto asked = address_in(value, "asked");
  const auto sockets = value.find("sockets");
  const auto tls = value.find("tls");
  if (!address || !asked || sockets == value.end() || !sockets->is_number_unsigned() || tls == value.end() ||
      !tls->is_boolean())
    return not_understood();
  HandedAddress handed;
  handed.kind = tls->get<bool>() ? ListenerKind::tls : ListenerKind::plain;
  handed.address = *address;
  handed.asked = *asked;
  handed.sockets = sockets->get<std::size_t>();
  if (handed.sockets == 0 || handed.sockets > kMostDescriptors) return not_understood();
  return HandoverItem(std::move(handed));
}

struct Encoder {
  json operator()(const HandedAddress& handed) const {
    return {{"item", "address"},
            {"tls", handed.kind == ListenerKind::tls},
            {"address", to_json(handed.address)},
            {"asked", to_json(handed.asked)},
            {"sockets", handed.sockets}};
  }
  json operator()(const HandedControl& handed) const {
    return {{"item", "control"},
            {"path", handed.path.string()},
            {"state", handed.state.string()},
            {"claim", handed.has_claim}};
  }
  json operator()(const HandoverComplete& /*end*/) const { return {{"item", "complete"}}; }
};

}  // namespace

std::string encode(const HandoverItem& item) {
  return std::visit(Encoder(), item).dump(-1, ' ', true, json::error_handler_t::replace);
}

Result<HandoverItem> decode_handover_item(std::string_view line) {
  const json value = json::parse(line, nullptr, false);
  if (!value.is_object()) return not_understood();
  const auto item = value.find("item");
  if (item == value.end() || !item->is_string()) return not_understood();
  if (*item == "complete") return HandoverItem(HandoverComplete());
  if (*item == "address") return decode_address(value);
  if (*item != "control") return not_understood();
  const auto path = value.find("path");
  if (path == value.end() || !path->is_string()) return not_understood();
  HandedControl handed;
  handed.path = path->get<std::string>();
  const auto state = value.find("state");
  if (state != value.end() && state->is_string()) handed.state = state->get<std::string>();
  const auto claim = value.find("claim");
  handed.has_claim = claim != value.end() && claim->is_boolean() && claim->get<bool>();
  return HandoverItem(std::move(handed));
}

}  // namespace hedge::proxy
