// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @notice One agent, the plainest way: every figure is written down in the second in which it changes.
/// @param expiresAt end of the window that is charged last, Unix seconds
/// @param startsAt its begin, Unix seconds
/// @param firstEnd end of the first window since it opened, Unix seconds
struct NaiveAgent {
    bool exists;
    bool isCancelled;
    uint256 startsAt;
    uint256 expiresAt;
    uint256 firstEnd;
    uint256 periodSeconds;
    uint256 priceTinybar;
    uint256 balanceTinybar;
    uint256 refundTinybar;
    uint256 quota;
}

/// @title A second model of the books
/// @notice Renews agent by agent, second by second: no slots, no calendar, no projection. Shares no code with the contract.
contract NaiveBooks {
    uint256 public depositsTinybar;
    uint256 public earnedTinybar;
    uint256 public refundsTinybar;
    mapping(uint256 who => NaiveAgent) internal _agents;
    mapping(uint256 who => mapping(uint256 windowEnd => uint256)) public used;
    uint256 public immutable COUNT;

    constructor(uint256 agents) {
        COUNT = agents;
    }

    function agentOf(uint256 who) external view returns (NaiveAgent memory) {
        return _agents[who];
    }

    /// @dev One second passes: whoever's window ends in it, and has paid for another, gets that.
    function tick(uint256 second) external {
        for (uint256 who; who < COUNT; ++who) {
            if (second == _agents[who].expiresAt) _renew(_agents[who]);
        }
    }

    function buy(uint256 who, uint256 value, uint256[4] calldata terms, uint256 alignment) external {
        NaiveAgent storage agent = _agents[who];
        depositsTinybar += value;
        agent.balanceTinybar += value;
        agent.isCancelled = false;
        if (agent.exists && agent.expiresAt > block.timestamp) return;
        (agent.priceTinybar, agent.periodSeconds, agent.quota) = (terms[0], terms[1], terms[2]);
        agent.exists = true;
        agent.startsAt = block.timestamp;
        agent.expiresAt = block.timestamp + terms[1];
        while ((agent.expiresAt + alignment) % terms[3] != 0) ++agent.expiresAt;
        agent.firstEnd = agent.expiresAt;
        _charge(agent);
    }

    function topUp(uint256 who, uint256 value) external {
        depositsTinybar += value;
        _agents[who].balanceTinybar += value;
    }

    function cancel(uint256 who) external {
        NaiveAgent storage agent = _agents[who];
        agent.isCancelled = true;
        depositsTinybar -= agent.balanceTinybar;
        refundsTinybar += agent.balanceTinybar;
        agent.refundTinybar += agent.balanceTinybar;
        agent.balanceTinybar = 0;
    }

    function claim(uint256 who) external {
        refundsTinybar -= _agents[who].refundTinybar;
        _agents[who].refundTinybar = 0;
    }

    /// @dev Counts calls in the window that is open now, or in the next one, which begins within 10 s and is charged with that.
    function count(uint256 who, int256 calls, bool isNext) external returns (bool isCounted) {
        NaiveAgent storage agent = _agents[who];
        uint256 end = openEnd(who) + (isNext ? agent.periodSeconds : 0);
        if (isNext && end > agent.expiresAt) {
            if (agent.isCancelled || agent.balanceTinybar < agent.priceTinybar) return false;
            if (agent.expiresAt > block.timestamp + 10) return false;
        }
        int256 sum = int256(used[who][end]) + calls;
        if (sum < 0) sum = 0;
        if (sum > int256(agent.quota)) return false;
        if (end > agent.expiresAt) _renew(agent);
        used[who][end] = uint256(sum);
        return true;
    }

    /// @dev End of the window that is open now: of the one before the last that is charged, if that has not begun.
    function openEnd(uint256 who) public view returns (uint256) {
        NaiveAgent storage agent = _agents[who];
        return block.timestamp < agent.startsAt ? agent.startsAt : agent.expiresAt;
    }

    function _renew(NaiveAgent storage agent) private {
        if (!agent.exists || agent.isCancelled || agent.balanceTinybar < agent.priceTinybar) return;
        agent.startsAt = agent.expiresAt;
        agent.expiresAt += agent.periodSeconds;
        _charge(agent);
    }

    function _charge(NaiveAgent storage agent) private {
        agent.balanceTinybar -= agent.priceTinybar;
        depositsTinybar -= agent.priceTinybar;
        earnedTinybar += agent.priceTinybar;
    }
}
